/** A tenant whose functions import an external package, restored, cloned and replaced in the server that runs. */
import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {ServiceClient} from '../../cli/client.ts';
import {readProject} from '../../cli/project/project-file.ts';
import {push} from '../../cli/project/push.ts';
import {App} from '../functions/app.ts';
import {nodeVariables} from '../functions/node/node-app.ts';
import {PackageRegistry} from '../functions/node/package-registry.ts';
import {svc} from '../harness/command.ts';
import {type TestRepository, testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';

const NODE = process.versions.node.split('.')[0]!;
const FILES = {
  'svc.json': JSON.stringify({node: {nodeVersion: NODE, externalPackages: ['greeter']}}),
  'svc/m.ts': `"use node";
    import greeter from 'greeter';
    import {action} from './_generated/server';
    export const greet = action(async () => greeter);`,
};

let repository: TestRepository;
let service: Service;
let app: App;
beforeAll(async () => {
  repository = await testRepository(afterAll);
  const registry = await PackageRegistry.start({'greeter@1.0.0': {files: {'index.js': "module.exports = 'hello';\n"}}});
  service = await Service.start({env: await nodeVariables(), args: repository.args});
  app = await App.empty(service);
  process.env.SVC_ACCESS_TOKEN = service.accessToken;
  const client = await ServiceClient.open({url: service.url}, 4);
  try {
    const target = {project: await readProject(await registry.project({greeter: '1.0.0'}, FILES)), client};
    await push({...target, tenant: app.tenant}, {typecheck: 'disable', message: null, dryRun: false}, () => undefined);
  } finally {
    delete process.env.SVC_ACCESS_TOKEN;
    await client.close();
    await registry.stop();
  }
  expect(await app.action('m:greet', {})).toBe('hello');
  expect((await service.post('/api/backup/run')).status).toBe(200);
}, 120_000);
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

async function resumed(tenant: string): Promise<unknown> {
  expect((await service.post(`/api/tenants/${tenant}/resume`)).status).toBe(200);
  return await new App(service, tenant).action('m:greet', {});
}

test('by the route, and in place of the tenant itself', async () => {
  expect(await app.admin('POST', '/restore?as=past')).toMatchObject({status: 201});
  expect(await resumed('past')).toBe('hello');
  expect(await app.admin('POST', `/restore?as=${app.tenant}&replace=true`)).toMatchObject({status: 201});
  expect(await resumed(app.tenant)).toBe('hello');
  expect(readdirSync(join(service.data, 'incoming'))).toEqual([]);
});

test('by svc restore, which sends it after the file', async () => {
  const {directory, keyFile} = repository;
  const restore = (...args: string[]) =>
    svc([
      ...['restore', app.tenant, '--from', directory, '--key', keyFile, '--data', service.data, '--url', service.url],
      ...args,
    ]);
  expect(await restore('--as', 'sent')).toMatchObject({code: 0, stderr: ''});
  expect(await resumed('sent')).toBe('hello');
  expect(await restore('--as', 'sent', '--replace', '--live')).toMatchObject({code: 0, stderr: ''});
  expect(await new App(service, 'sent').action('m:greet', {})).toBe('hello');
});

test('with a clone, and for a file that replaces the tenant; a file alone is refused by the name of what it lacks', async () => {
  expect(await app.admin('POST', '/clone?as=second')).toMatchObject({status: 201});
  expect(await resumed('second')).toBe('hello');
  const command = (...args: string[]) => svc(['tenants', ...args, '--data', service.data, '--url', service.url]);
  expect(await command('clone', 'second', 'third', '--live')).toMatchObject({code: 0, stderr: ''});
  expect(await new App(service, 'third').action('m:greet', {})).toBe('hello');
  const file = join(service.data, 'exported.sqlite');
  expect((await command('export', 'third', '-o', file)).code).toBe(0);
  expect((await command('import', file, '--as', 'third', '--replace', '--live')).code).toBe(0);
  expect(await new App(service, 'third').action('m:greet', {})).toBe('hello');
  expect((await command('import', file, '--as', 'fourth', '--live')).code).toBe(0);
  const {status, text} = await new App(service, 'fourth').svc('POST', '/action', {path: 'm:greet', args: {}});
  const lacks = 'this tenant does not have the external package greeter@1.0.0 of its deployment: deploy the code again';
  expect([status, text]).toEqual([503, expect.stringContaining(lacks)]);
  expect(readdirSync(join(service.data, 'incoming'))).toEqual([]);
});
