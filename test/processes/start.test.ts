import {existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {createServer, type Server} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {request} from 'undici';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {shellQuoted} from '../../cli/shell-quoted.ts';
import {svc} from '../harness/command.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {inTerminal} from '../harness/terminal.ts';
import {until} from '../harness/until.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-start-'));
});
afterAll(() => rmSync(directory, {recursive: true}));

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const ACCESS = 'an-access-token-of-ours';
const ADMIN = 'an-admin-token-of-ours';

/** Runs `use` with a service of its own. */
async function withService(options: Parameters<typeof Service.start>[0], use: (service: Service) => Promise<void>) {
  const service = await Service.start(options);
  try {
    service.showLogOnFailure();
    await use(service);
  } finally {
    await service.stop();
  }
}

async function allOutput(service: Service): Promise<string[]> {
  await until('the last line of output', () => service.output.at(-1)?.includes('curl'));
  return service.output;
}

describe('standard output', () => {
  test('comes when the service answers; holds the address, where the credentials are and a first command, and nothing later', () =>
    withService({}, async service => {
      expect((await service.get('/health')).body).toEqual({ok: true});
      const lines = await allOutput(service);
      expect(lines.filter(line => !line.startsWith('missing sandbox layer '))).toEqual([
        `svc listening on http://127.0.0.1:${service.port}`,
        `credentials: ${service.data}/admin.json`,
        expect.stringMatching(/^sandbox layers: (?:[a-z]+, )*[a-z]+$/),
        `dashboard: http://dashboard.localhost:${service.port} (svc dashboard signs you in)`,
        `API documentation: ${service.url}/api/docs`,
        'try it:',
        expect.stringContaining(`${service.url}/api/tenants`),
      ]);
      expect(service.output.join('\n')).not.toContain(service.accessToken);
      const count = lines.length;
      await service.tenant();
      expect(service.output).toHaveLength(count);
    }));

  test('names the variables of the two credentials, if they come from there', () =>
    withService(
      {env: {SVC_ACCESS_TOKEN: 'an-access-token-of-a-test', SVC_ADMIN_TOKEN: 'an-admin-token-of-a-test'}},
      async service => {
        const lines = await allOutput(service);
        expect(lines[1]).toBe('access token: $SVC_ACCESS_TOKEN, admin token: $SVC_ADMIN_TOKEN');
      },
    ));

  test('on a terminal, has a link that signs in to the dashboard once', async () => {
    const data = join(directory, 'terminal');
    const command = [process.execPath, CLI, 'start', '--port', '0', '--data', data].map(shellQuoted).join(' ');
    const shown = inTerminal(`exec ${command}`, {});
    const link = /dashboard: (http:\S+)\/_dashboard\/#code=(\S+) \(signs you in once, within 60 s/;
    const [, origin = '', code] = await until('the link', () => link.exec(shown()));
    const {port, host} = new URL(origin);
    const signIn = () =>
      request(`http://127.0.0.1:${port}/_dashboard/session`, {
        method: 'POST',
        headers: {host, origin, 'x-svc-dashboard': '1'},
        body: JSON.stringify({code}),
      });
    const first = await signIn();
    expect([first.statusCode, await first.body.text()]).toEqual([200, expect.stringContaining('"name":"admin"')]);
    const second = await signIn();
    await second.body.dump();
    expect(second.statusCode).toBe(401);
  });

  test('names the metrics page when there is one, and tokens given by variables', () =>
    withService({args: ['--metrics-port', '0'], env: {SVC_ACCESS_TOKEN: ACCESS}}, async service => {
      const lines = await allOutput(service);
      expect(lines[1]).toBe(`access token: $SVC_ACCESS_TOKEN, admin token: ${service.data}/admin.json`);
      expect(lines[2]).toMatch(/^metrics: http:\/\/127\.0\.0\.1:\d+\/metrics$/);
      expect(lines.join('\n')).not.toContain(ACCESS);
    }));
});

describe('the data directory', () => {
  test('is made with what is above it, for its owner alone, with the credentials in it', async () => {
    const data = join(directory, 'made', 'on', 'start');
    await withService({data}, async service => {
      expect((await service.tenant()).length).toBeGreaterThan(0);
      expect(modeOf(data)).toBe('700');
      for (const name of ['admin.json', 'registry.sqlite']) expect(modeOf(join(data, name))).toBe('600');
    });
  });

  nightly.test('keeps tenants and tokens over a restart', () =>
    withService({}, async service => {
      const id = await service.tenant();
      const token = service.accessToken;
      await service.end('SIGTERM');
      await service.run();
      expect(service.accessToken).toBe(token);
      expect((await service.get('/api/tenants')).body).toEqual({tenants: [id]});
    }),
  );
});

describe('credentials in variables', () => {
  test('are taken as they are; with both, none is written', () =>
    withService({env: {SVC_ACCESS_TOKEN: ACCESS, SVC_ADMIN_TOKEN: ADMIN}}, async service => {
      expect(existsSync(join(service.data, 'admin.json'))).toBe(false);
      const status = async (headers: Record<string, string>) =>
        (await service.get('/api/tenants', {authorization: undefined, ...headers})).status;
      expect(await status({authorization: `Bearer ${ACCESS}`})).toBe(200);
      expect(await status({'x-svc-admin-token': ADMIN})).toBe(200);
      expect(await status({authorization: `Bearer ${ADMIN}`})).not.toBe(200);
    }));
});

nightly.test('XDG_RUNTIME_DIR set to nothing is as if it were not set', () =>
  withService({env: {XDG_RUNTIME_DIR: ''}}, async service => {
    expect((await service.get('/health')).status).toBe(200);
  }),
);

describe('a start that fails: exit code, nothing on standard output, one sentence on standard error', () => {
  let running: Service;
  let taken: Server;
  beforeAll(async () => {
    running = await Service.start();
    taken = createServer();
    await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve));
    writeFileSync(fresh('file'), '');
    mkdirSync(fresh('x'.repeat(100)));
    const damaged = (name: string, file: string, text: string) => {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, file), text);
    };
    damaged('bad-admin', 'admin.json', '{"access_token": "short"}');
    damaged('bad-registry', 'registry.sqlite', 'not a database '.repeat(100));
  });
  afterAll(async () => {
    taken.close();
    await running.stop();
  });

  const port = () => (taken.address() as {port: number}).port;
  const fresh = (name: string) => join(directory, name);

  test.each<[string, () => string[], string | (() => string), (() => Record<string, string>)?]>([
    ['the port is taken', () => ['--port', String(port()), '--data', fresh('a')], () => `port ${port()}`],
    [
      'the metrics port is taken',
      () => ['--metrics-port', String(port()), '--data', fresh('b')],
      () => `port ${port()}`,
    ],
    [
      "the address is not this machine's",
      () => ['--host', '192.0.2.1', '--listen-beyond-loopback', '--data', fresh('c')],
      '192.0.2.1',
    ],
    ['another server owns the data directory', () => ['--data', running.data], () => `process ${running.pid}`],
    ['the data directory is a file', () => ['--data', fresh('file')], 'is not a directory'],
    ['the data directory is below a file', () => ['--data', fresh('file/below')], 'is not a directory'],
    ['admin.json is damaged', () => ['--data', fresh('bad-admin')], 'does not hold an access_token'],
    ['the registry is damaged', () => ['--data', fresh('bad-registry')], 'registry.sqlite'],
    [
      'the directory for sockets does not exist',
      () => ['--data', fresh('e')],
      '/absent',
      () => ({XDG_RUNTIME_DIR: '/absent'}),
    ],
    [
      'the path for sockets is too long',
      () => ['--data', fresh('f')],
      'set TMPDIR',
      () => ({XDG_RUNTIME_DIR: fresh('x'.repeat(100))}),
    ],
    ['a token is too short', () => ['--data', fresh('d')], 'SVC_ACCESS_TOKEN', () => ({SVC_ACCESS_TOKEN: 'short'})],
  ])('1: %s', async (_, args, says, env = () => ({})) => {
    const outcome = await svc(['start', '--port', '0', ...args()], env());
    expect(outcome).toMatchObject({code: 1, stdout: ''});
    expect(outcome.stderr).toMatch(/^svc: [^\n]+\n(Nothing was changed\. [^{}]+\n)?$/);
    expect(outcome.stderr).not.toMatch(/\n +at /);
    expect(outcome.stderr).toContain(typeof says === 'string' ? says : says());
    // A start that could not listen leaves nothing behind.
    for (const name of ['a', 'b', 'c']) expect(existsSync(fresh(name))).toBe(false);
  });

  const wrong: [string[], string][] = [
    [['--port', 'http'], '--port'],
    [['--port', '65536'], '--port'],
    [['--idle-stop', '5'], '--idle-stop'],
    [['--max-awake', '0'], '--max-awake'],
    [['--spare-workers', '-1'], '--spare-workers'],
    [['--log-level', 'loud'], '--log-level'],
    [['--host', '0.0.0.0'], '--listen-beyond-loopback'],
    [['--nonsense'], '--nonsense'],
    [['surplus'], 'too many arguments'],
  ];
  test.each(rounds({commit: wrong.filter((_, n) => n % 3 === 0), nightly: wrong}))(
    '2: a wrong command line is named: %j',
    async (args, says) => {
      const data = fresh('never-made');
      const outcome = await svc(['start', '--data', data, ...args]);
      expect(outcome).toMatchObject({code: 2, stdout: ''});
      expect(outcome.stderr).toContain(says);
      expect(outcome.stderr).not.toMatch(/\n +at /);
      expect(existsSync(data)).toBe(false);
    },
  );

  test('the server that runs is not disturbed, and a directory of a failed start can be used', async () => {
    expect((await running.get('/health')).status).toBe(200);
    await withService({data: fresh('a')}, async service => {
      expect((await service.get('/api/tenants')).body).toEqual({tenants: []});
    });
  });
});

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}
