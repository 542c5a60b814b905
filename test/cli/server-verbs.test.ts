/** The verbs that look after a server: tenants, settings, schemas, and what the command sees of it. */
import {execFile} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {ServerStatus} from '../../shared/protocol/server.ts';
import {Dashboard} from '../harness/dashboard.ts';
import {sharedService} from '../harness/shared-service.ts';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

const service = await sharedService();
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-server-verbs-'));
});
afterAll(async () => {
  rmSync(directory, {recursive: true});
});
beforeEach(() => service.showLogOnFailure());

type Outcome = {code: number; stdout: string; stderr: string};

function svc(args: string[], variables: NodeJS.ProcessEnv = {SVC_DATA: service.data}): Promise<Outcome> {
  const env = {PATH: process.env.PATH ?? '', SVC_URL: service.url, ...variables};
  const options = {env, cwd: directory};
  return new Promise(resolve =>
    execFile(process.execPath, [cli, ...args], options, (error, stdout, stderr) =>
      resolve({code: error === null ? 0 : Number(error.code), stdout, stderr}),
    ),
  );
}

describe('svc tenants', () => {
  test('creates, lists and deletes; without a terminal, deleting needs --yes', async () => {
    expect(await svc(['tenants', 'list'])).toEqual({code: 0, stdout: '', stderr: 'none\n'});
    expect(await svc(['tenants', 'create', 'acme'])).toEqual({code: 0, stdout: 'created acme\n', stderr: ''});
    expect(await svc(['tenants', 'create', 'acme'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already'),
    });
    expect(await svc(['tenants', 'list', '--json'])).toMatchObject({code: 0, stdout: '{"id":"acme"}\n'});
    expect(await svc(['tenants', 'delete', 'acme'])).toMatchObject({code: 2, stderr: expect.stringContaining('--yes')});
    expect((await svc(['tenants', 'list'])).stdout).toBe('acme\n');
    expect(await svc(['tenants', 'delete', 'acme', '--yes'])).toMatchObject({code: 0, stdout: 'deleted acme\n'});
    expect(await svc(['tenants', 'delete', 'acme', '--yes'])).toMatchObject({
      code: 1,
      stderr: 'svc tenants delete: there is no tenant acme\n',
    });
  });
});

test('svc server shows processes, routers, layers and settings, without a credential', async () => {
  const {code, stdout} = await svc(['server']);
  expect(code).toBe(0);
  for (const text of ['memory  ', '  supervisor ', '  router ', 'sandbox layers', `  port: ${service.port}`]) {
    expect(stdout).toContain(text);
  }
  const json = (await svc(['server', '--json'])).stdout;
  const status = JSON.parse(json) as ServerStatus;
  expect(status).toMatchObject({disk: {free_bytes: expect.any(Number)}, routers: [{router: 0, is_answering: true}]});
  const [supervisor] = status.processes.filter(({kind}) => kind === 'supervisor');
  expect(supervisor!.private_bytes).toBeGreaterThan(0);
  expect(supervisor!.private_bytes).toBeLessThanOrEqual(supervisor!.resident_bytes);
  for (const secret of [service.accessToken, service.adminToken]) expect(json + stdout).not.toContain(secret);
});

describe('svc dashboard', () => {
  test('prints a link that signs in once; lists and ends sessions', async () => {
    const {stdout: link} = await svc(['dashboard']);
    const [, url = '', code = ''] = /^(.*)#code=(.*)\n$/.exec(link) ?? [];
    expect(url).toBe(`http://dashboard.localhost:${service.port}/_dashboard/`);
    const dashboard = new Dashboard(service);
    const {id}: {id: string} = (await dashboard.signIn({code})).body;
    expect((await new Dashboard(service).signIn({code})).status).toBe(401);
    expect((await svc(['dashboard', 'sessions'])).stdout).toContain(`${id}  admin  used `);
    expect(await svc(['dashboard', 'revoke'])).toMatchObject({code: 2});
    expect((await svc(['dashboard', 'revoke', id])).stdout).toBe(`revoked ${id}\n`);
    expect((await dashboard.get('/_dashboard/session')).status).toBe(401);
    const again = await Dashboard.signedIn(service);
    expect((await svc(['dashboard', 'revoke', '--all'])).stdout).toBe('signed out everywhere\n');
    expect((await again.get('/_dashboard/session')).status).toBe(401);
  });
});

describe('svc settings', () => {
  test('sets what is given and keeps the rest, as PUT does', async () => {
    await svc(['tenants', 'create', 'settings']);
    const of = ['--tenant', 'settings'];
    expect(JSON.parse((await svc(['settings', 'get', ...of])).stdout)).toEqual({
      egress: {allow: [], deny: []},
      allowed_origins: null,
    });
    await svc(['settings', 'set', '--allow', '127.0.0.1, 10.1.0.0/16', ...of]);
    await svc(['settings', 'set', '--origins', 'https://app.example', ...of]);
    const set = await svc(['settings', 'set', '--deny', '*.ads.example', ...of]);
    expect(JSON.parse(set.stdout)).toEqual({
      egress: {allow: ['127.0.0.1', '10.1.0.0/16'], deny: ['*.ads.example']},
      allowed_origins: ['https://app.example'],
    });
    const put = await service.request('PUT', '/api/tenants/settings/settings', {egress: {allow: [], deny: []}});
    expect(put.status).toBe(204);
    expect((await service.get('/api/tenants/settings/settings')).body).toEqual({
      egress: {allow: [], deny: []},
      allowed_origins: ['https://app.example'],
    });
    expect(await svc(['settings', 'set', ...of])).toMatchObject({code: 2, stderr: expect.stringContaining('--allow')});
    expect(await svc(['settings', 'set', '--allow', 'no such', ...of])).toMatchObject({code: 1});
  });
});

describe('svc schema', () => {
  test('sets, shows and deletes that of a table', async () => {
    await svc(['tenants', 'create', 'shapes']);
    const of = ['--tenant', 'shapes'];
    const fields = [{name: 'title', field_type: 'string', required: true}];
    writeFileSync(join(directory, 'notes.json'), JSON.stringify({table: 'notes', fields, indexes: []}));
    expect(await svc(['schema', 'set', 'notes.json', ...of])).toMatchObject({code: 0});
    expect(JSON.parse((await svc(['schema', 'get', 'notes', ...of])).stdout)).toMatchObject({fields});
    expect((await svc(['schema', 'get', ...of])).stdout).toContain('"title"');
    writeFileSync(join(directory, 'wrong.json'), '{"fields": []}');
    expect(await svc(['schema', 'set', 'wrong.json', ...of])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('"table" must name the table'),
    });
    expect(await svc(['schema', 'delete', 'notes', ...of])).toMatchObject({code: 0});
    expect(await svc(['schema', 'get', 'notes', ...of])).toMatchObject({code: 1});
  });
});

describe('svc status and svc whoami', () => {
  test('say which credential is used, and what it can do', async () => {
    expect((await svc(['status'])).stdout).toMatch(
      /^server {6}\S+ is healthy\ncredential {2}.+ all rights\ntenants {5}\d+\n/,
    );
    const key = ['key', 'create', 'reader', '--scopes', 'data:read', '--tenants', 'settings', '--tables', 'notes'];
    const secret = (await svc(key)).stdout.trim();
    const seen = await svc(['whoami'], {SVC_ACCESS_TOKEN: secret});
    expect(seen.stdout).toMatch(/^reader \(\w+\): scopes data:read; tenants settings; tables notes\n$/);
    expect((await svc(['status'], {SVC_ACCESS_TOKEN: secret})).stdout).toContain('tenants     1\n');
    const empty = {SVC_TENANT: '', SVC_DATA: service.data};
    expect(await svc(['status', '--url', service.url], {...empty, SVC_URL: ''})).toMatchObject({code: 0});
    expect(await svc(['status'], {SVC_URL: '', SVC_DATA: service.data})).toMatchObject({
      stderr: expect.stringMatching(
        /^svc status: (no server answers at http:\/\/127\.0\.0\.1:3210|.* does not accept)/,
      ),
    });
    expect(await svc(['status'], {SVC_URL: 'http://127.0.0.1:1', SVC_DATA: service.data})).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no server answers'),
    });
  });
});
