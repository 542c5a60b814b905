/** External packages over HTTP, as clients without the command line send them, and as hostile ones do. */
import {createHash} from 'node:crypto';
import {existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {beforeAll, expect, test} from 'vitest';
import {ServiceClient} from '../../../cli/client.ts';
import {readProject} from '../../../cli/project/project-file.ts';
import {push} from '../../../cli/project/push.ts';
import type {DeploymentUpload, UploadedPackage} from '../../../shared/protocol/functions.ts';
import {nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App, uploadOf} from '../app.ts';
import {projectDirectory} from '../cli/project.ts';
import {nodeVariables, onNode} from './node-app.ts';
import {tarball} from './tar.ts';

const OWN = process.versions.node.split('.')[0]!;
const MODULE = `"use node";
  import {createRequire} from 'node:module';
  import {action} from './_generated/server';
  const load = createRequire(import.meta.url);
  export const value = action(async () => load('a'));`;
const TARBALL = tarball([
  {name: 'package/package.json', text: '{"name": "a", "version": "1.0.0"}'},
  {name: 'package/index.js', text: "module.exports = 'from a';"},
]);
const SHA512 = createHash('sha512').update(TARBALL).digest('hex');
const A: UploadedPackage = {path: 'node_modules/a', version: '1.0.0', sha512: SHA512};

const service = await sharedService();
/** For tests that leave nothing in it. */
let empty: App;
beforeAll(async () => {
  empty = await App.empty(service);
});

async function uploadWith(packages: UploadedPackage[], more: Partial<DeploymentUpload> = {}) {
  const upload = await uploadOf({...onNode(OWN), 'm.ts': MODULE});
  return {...upload, ...more, node: {version: OWN, packages}};
}

async function put(app: App, sha512: string, tarball: Buffer): Promise<{status: number; text: string}> {
  const headers = {authorization: `Bearer ${service.accessToken}`};
  const url = `${service.url}/api/tenants/${app.tenant}/packages/${sha512}`;
  const response = await fetch(url, {method: 'PUT', headers, body: new Uint8Array(tarball)});
  return {status: response.status, text: await response.text()};
}

test('a tarball is sent by its SHA-512 and deployed by it', async () => {
  const app = await App.empty(service);
  const asked = {packages: [SHA512]};
  expect((await app.admin('POST', '/packages/missing', asked)).body).toEqual({missing: [SHA512]});
  expect(await put(app, SHA512, TARBALL)).toEqual({status: 204, text: ''});
  expect((await app.admin('POST', '/packages/missing', asked)).body).toEqual({missing: []});
  expect((await app.admin('POST', '/deployments', await uploadWith([A]))).status).toBe(201);
  expect(await app.action('m:value', {})).toBe('from a');
  // Of this tenant alone.
  const other = await App.empty(service);
  expect((await other.admin('POST', '/packages/missing', asked)).body).toEqual({missing: [SHA512]});
});

test('a long tarball arrives in pieces', async () => {
  const app = empty;
  const long = tarball([{name: 'package/a.txt', text: Array.from({length: 60_000}, (_, n) => `${n * 7919}`).join()}]);
  expect(long.length).toBeGreaterThan(100_000);
  expect((await put(app, createHash('sha512').update(long).digest('hex'), long)).status).toBe(204);
});

test('a tarball that is not what its name says is refused, and nothing of it stays', async () => {
  const app = await App.empty(service);
  const {status, text} = await put(app, '0'.repeat(128), TARBALL);
  expect([status, text]).toEqual([400, expect.stringContaining(`the SHA-512 of this tarball is ${SHA512}`)]);
  expect(readdirSync(join(service.directoryOf(app.tenant)!, 'packages'))).toEqual([]);
});

test.each<[string, UploadedPackage[], string]>([
  ['that was not sent', [A], `the external package a@1.0.0 was not sent: PUT its tarball to …/packages/${SHA512}`],
  ['above the directory of the code', [{...A, path: 'node_modules/../../a'}], 'cannot be the path of a package'],
  ['elsewhere in it', [{...A, path: '.svc/a'}], 'cannot be the path of a package'],
  ['twice', [A, A], 'there are two packages node_modules/a'],
  ['by what is no SHA-512', [{...A, sha512: 'abc'}], 'sha512'],
])('a package %s refuses the deploy', async (_name, packages, reason) => {
  const {status, text} = await empty.admin('POST', '/deployments', await uploadWith(packages));
  expect([status, text]).toEqual([400, expect.stringContaining(reason)]);
});

test.each(['_deps/node/../../../../../escaped.js', '/tmp/escaped.js', '.svc/node-child.js', 'node_modules/a/index.js'])(
  'a file %s of a bundle is refused',
  async path => {
    const {files, ...upload} = await uploadWith([]);
    const hostile = {...upload, files: [...files, {path, source: 'export {};', sourceMap: null}]};
    const {status, text} = await empty.admin('POST', '/deployments', hostile);
    expect([status, text]).toEqual([400, expect.stringContaining('cannot be the path of a file of the bundle')]);
    expect(existsSync(join(service.data, 'escaped.js'))).toBe(false);
  },
);

test('one that is optional and has native code is left out; one that is not refuses the deploy', async () => {
  const app = await App.empty(service);
  const native = tarball([{name: 'package/prebuilds/linux.node', text: 'ELF'}]);
  const sha512 = createHash('sha512').update(native).digest('hex');
  await put(app, SHA512, TARBALL);
  await put(app, sha512, native);
  const addon = {path: 'node_modules/a/node_modules/@fast/addon', version: '2.0.0', sha512};
  const refused = await app.admin('POST', '/deployments', await uploadWith([A, addon]));
  expect(refused.text).toContain('@fast/addon@2.0.0 has native code (prebuilds/linux.node)');
  expect((await app.admin('POST', '/deployments', await uploadWith([A, {...addon, optional: true}]))).status).toBe(201);
  expect(await app.action('m:value', {})).toBe('from a');
});

nightly.test(
  'a deploy shows that the server installs a version of Node, for as long as it does',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-progress-'));
    const version = ['20', '22', '24', '26'].find(each => each !== OWN)!;
    const variables = await nodeVariables();
    // In the place of npm: brings it when it is let.
    const npm = `#!/bin/sh
    for prefix; do :; done
    while [ ! -e ${directory}/let ]; do sleep 0.05; done
    mkdir -p "$prefix/node_modules/node-${process.platform}-${process.arch}/bin"
    cp ${variables[`SVC_NODE_${version}`]} "$prefix/node_modules/node-${process.platform}-${process.arch}/bin/node"`;
    writeFileSync(join(directory, 'npm'), npm, {mode: 0o755});
    const slow = await Service.start({env: {PATH: `${directory}:${process.env.PATH}`}});
    process.env.SVC_ACCESS_TOKEN = slow.accessToken;
    const client = await ServiceClient.open({url: slow.url}, 4);
    try {
      const app = await App.empty(slow);
      const said: string[] = [];
      const files = {
        'svc.json': JSON.stringify({node: {nodeVersion: version}}),
        'svc/m.ts': '"use node";\nexport {};\n',
      };
      const project = await readProject(projectDirectory(files));
      const pushing = push(
        {project, client, tenant: app.tenant},
        {typecheck: 'disable', message: null, dryRun: false},
        text => said.push(text),
      );
      await until('it is reported', () => said.some(text => text.startsWith(`the server installs Node ${version}`)));
      const {deploys} = (await app.admin('GET', '/deployments/progress')).body as {deploys: object[]};
      expect(deploys).toMatchObject([{step: 'installing_node', detail: version}]);
      writeFileSync(join(directory, 'let'), '');
      expect((await pushing).deployment?.active).toBe(true);
      expect((await app.admin('GET', '/deployments/progress')).body).toEqual({deploys: []});
    } finally {
      delete process.env.SVC_ACCESS_TOKEN;
      await client.close();
      await slow.stop();
      rmSync(directory, {recursive: true});
    }
  },
  300_000,
);
