import {resolve} from 'node:path';
import {Command, CommanderError} from 'commander';
import {afterEach, describe, expect, test} from 'vitest';
import {addStartOptions, type StartOptions} from '../../cli/config.ts';
import {isLoopback} from '../../shared/loopback.ts';

/** What `svc start ARGS` would run with, or the sentence it would end with. */
function parse(args: string[], env: Record<string, string> = {}): StartOptions | string {
  for (const [name, value] of Object.entries(env)) process.env[name] = value;
  let said = '';
  const command = addStartOptions(new Command('start'))
    .exitOverride()
    .configureOutput({writeErr: text => (said += text)})
    .action(() => undefined);
  try {
    command.parse(args, {from: 'user'});
    return command.opts<StartOptions>();
  } catch (caught) {
    if (!(caught instanceof CommanderError)) throw caught;
    return said;
  }
}

afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('SVC_')) delete process.env[name];
});

describe('svc start: settings', () => {
  test('without flags everything has its default', () => {
    expect(parse([])).toEqual({
      port: 3210,
      host: '127.0.0.1',
      data: './data',
      idleStop: 300_000,
      spareWorkers: 1,
      maxAwake: 128,
      routers: 1,
      allowedHost: [],
      allowedOrigin: [],
      trustedProxy: [],
      dashboard: true,
      backupDrill: 604_800_000,
      journalKeepRecords: 1_000_000,
      tenantStorageMax: 10 * 1024 ** 3,
      tenantServicesMemoryMb: 2_048,
      redactErrors: false,
      logLevel: 'info',
      logFormat: 'auto',
      listenBeyondLoopback: false,
      workerUsers: 'auto',
      requireSandbox: false,
      backupEvery: 1_000,
      copiesSpoolMax: 256 * 1024 ** 2,
      ack: 'replicated',
      replicationLagMax: 5_000,
      standbys: 1,
      lease: 6_000,
      capacity: 1,
      copyRate: 16 * 1024 ** 2,
      drainTimeout: 60_000,
      allowSingleLog: false,
      natsPlain: false,
    });
  });

  test.each([
    [['--port', '0'], 'port', 0],
    [['--port', '65535'], 'port', 65_535],
    [['--idle-stop', '0'], 'idleStop', 0],
    [['--idle-stop', '500ms'], 'idleStop', 500],
    [['--idle-stop', '300s'], 'idleStop', 300_000],
    [['--idle-stop', '1.5m'], 'idleStop', 90_000],
    [['--idle-stop', '1h'], 'idleStop', 3_600_000],
    [['--tenant-storage-max', '0'], 'tenantStorageMax', 0],
    [['--tenant-storage-max', '512m'], 'tenantStorageMax', 512 * 1024 ** 2],
    [['--tenant-storage-max', '2T'], 'tenantStorageMax', 2 * 1024 ** 4],
    [['--tenant-services-memory-mb', '256'], 'tenantServicesMemoryMb', 256],
    [['--spare-workers', '0'], 'spareWorkers', 0],
    [['--metrics-port', '9000'], 'metricsPort', 9000],
    [
      ['--allowed-host', 'a.example', '--allowed-host', 'B.example:80,c'],
      'allowedHost',
      ['a.example', 'b.example:80', 'c'],
    ],
    [
      ['--allowed-origin', 'https://app.example.com,http://localhost:5173', '--allowed-origin', 'tauri://localhost'],
      'allowedOrigin',
      ['https://app.example.com', 'http://localhost:5173', 'tauri://localhost'],
    ],
    [
      ['--trusted-proxy', '127.0.0.1, ::1', '--trusted-proxy', '10.0.0.0/8'],
      'trustedProxy',
      ['127.0.0.1', '::1', '10.0.0.0/8'],
    ],
    [['--no-dashboard'], 'dashboard', false],
    [['--dashboard', '0'], 'dashboard', false],
    [['--dashboard-origin', 'https://admin.example.com'], 'dashboardOrigin', 'https://admin.example.com'],
    [['--dashboard-port', '0'], 'dashboardPort', 0],
    [['--rate-limit-tenant', '50'], 'rateLimitTenant', {requests_per_second: 50, burst: 100}],
    [['--rate-limit-key', '5'], 'rateLimitKey', {requests_per_second: 5, burst: 10}],
    [['--rate-limit-tenant', '0.1'], 'rateLimitTenant', {requests_per_second: 0.1, burst: 1}],
    [['--rate-limit-tenant', '50:200'], 'rateLimitTenant', {requests_per_second: 50, burst: 200}],
    [['--host', '0.0.0.0', '--listen-beyond-loopback'], 'host', '0.0.0.0'],
    [['--backup-to', '/copies', '--backup-key', '/key'], 'backupTo', '/copies'],
    [['--backup-to', 's3://b/p?region=x', '--backup-key', '/key'], 'backupTo', 's3://b/p?region=x'],
    [['--backup-to', 'copies', '--backup-key', 'key'], 'backupKey', resolve('key')],
    [['--backup-every', '5m'], 'backupEvery', 300_000],
    [['--backup-keep', 'last=100,hourly=24, daily=30'], 'backupKeep', {last: 100, hourly: 24, daily: 30}],
  ])('%j', (args, name, value) => {
    expect(parse(args)).toMatchObject({[name]: value});
  });

  test('each is also a variable', () => {
    const env = {SVC_PORT: '1', SVC_DATA: '/x', SVC_IDLE_STOP: '2s', SVC_ALLOWED_HOST: 'a,b', SVC_LOG_FORMAT: 'json'};
    const expected = {port: 1, data: '/x', idleStop: 2_000, allowedHost: ['a', 'b'], logFormat: 'json'};
    expect(parse([], env)).toMatchObject(expected);
  });

  test.each([
    ['1', true],
    ['yes', true],
    ['0', false],
    ['', false],
  ])('SVC_LISTEN_BEYOND_LOOPBACK=%j is %s', (text, confirmed) => {
    expect(parse([], {SVC_LISTEN_BEYOND_LOOPBACK: text})).toMatchObject({listenBeyondLoopback: confirmed});
  });

  test('the flag wins over the variable', () => {
    expect(
      parse(['--port', '2', '--allowed-host', 'flag'], {SVC_PORT: '1', SVC_ALLOWED_HOST: 'variable'}),
    ).toMatchObject({
      port: 2,
      allowedHost: ['flag'],
    });
  });
});

describe('svc start: a wrong value is a sentence that names the flag', () => {
  test.each([
    [['--port', '65536'], '--port'],
    [['--backup-to', '/copies'], '--backup-key'],
    [['--backup-key', '/key'], '--backup-to'],
    [['--backup-every', '10ms'], '--backup-every'],
    [['--backup-keep', 'hourly'], '--backup-keep'],
    [['--backup-keep', 'yearly=1'], '--backup-keep'],
    [['--backup-keep', 'last=1,last=2'], '--backup-keep'],
    [['--backup-keep', 'last=0'], '--backup-keep'],
    [['--copies-spool-max', '0'], '--copies-spool-max'],
    [['--backup-to', '/copies', '--backup-key', '/key', '--backup-heartbeat', 'ftp://x'], '--backup-heartbeat'],
    [['--port', '-1'], '--port'],
    [['--port', '1e3'], '--port'],
    [['--tenant-storage-max', '10'], '--tenant-storage-max'],
    [['--tenant-storage-max', '0g'], '--tenant-storage-max'],
    [['--tenant-storage-max', '1.5g'], '--tenant-storage-max'],
    [['--idle-stop', '300'], '--idle-stop'],
    [['--idle-stop', '0.1ms'], '--idle-stop'],
    [['--idle-stop', '9999h'], '--idle-stop'],
    [['--spare-workers', '65'], '--spare-workers'],
    [['--max-awake', '0'], '--max-awake'],
    [['--metrics-port', 'x'], '--metrics-port'],
    [['--allowed-host', 'a b'], '--allowed-host'],
    [['--allowed-host', ''], '--allowed-host'],
    [['--trusted-proxy', 'proxy.example.com'], '--trusted-proxy'],
    [['--trusted-proxy', '10.0.0.0/33'], '--trusted-proxy'],
    [['--trusted-proxy', '10.0'], '--trusted-proxy'],
    [['--trusted-proxy', ''], '--trusted-proxy'],
    [['--trusted-proxy', '127.0.0.1,0.0.0.0/0'], 'claim any address'],
    [['--trusted-proxy', '::/0'], 'claim any address'],
    [['--rate-limit-tenant', '0'], '--rate-limit-tenant'],
    [['--rate-limit-tenant', '50:0'], '--rate-limit-tenant'],
    [['--rate-limit-tenant', '50/s'], '--rate-limit-tenant'],
    [['--rate-limit-tenant', '1e3'], '--rate-limit-tenant'],
    [['--journal-keep-records', '0'], '--journal-keep-records'],
    [['--log-level', 'loud'], '--log-level'],
    [['--host', '0.0.0.0'], '--listen-beyond-loopback'],
    [['--host', 'example.org'], '--listen-beyond-loopback'],
    [['--frob'], '--frob'],
  ])('%j → %s', (args, flag) => {
    expect(parse(args)).toContain(flag);
  });

  test.each([
    ['*', 'name each origin'],
    ['null', 'as https://app.example.com'],
    ['app.example.com', 'as https://app.example.com'],
    ['', 'as https://app.example.com'],
    ['https://*.example.com', 'as https://app.example.com'],
    ['file://', 'as https://app.example.com'],
    ['https://app.example.com/', 'as browsers do: https://app.example.com;'],
    ['https://App.example.com/path', 'as browsers do: https://app.example.com;'],
    ['https://app.example.com:443', 'as browsers do: https://app.example.com;'],
    ['https://user@app.example.com', 'as browsers do: https://app.example.com;'],
    ['https://münchen.example', 'as browsers do: https://xn--mnchen-3ya.example;'],
  ])('--allowed-origin %j says what would be right: %s', (text, said) => {
    expect(parse(['--allowed-origin', text])).toContain(said);
  });

  test('a wrong variable is named too', () => {
    expect(parse([], {SVC_MAX_AWAKE: 'many'})).toContain('SVC_MAX_AWAKE');
  });
});

test.each([
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['127.example.org', false],
  ['127.1', false],
  ['127.0.0.256', false],
  ['[::1]', true],
])('%s is loopback: %s', (host, loopback) => {
  expect(isLoopback(host)).toBe(loopback);
});
