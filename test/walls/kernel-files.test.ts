/**
 * The second layer behind Node's permission model: here the model is switched off, as a fault of V8 would do it, and the kernel alone holds what a
 * sandbox with Node does with files.
 */
import {chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {execute, newSandbox} from '../control/sandbox-client.ts';
import {NODE_VERSION} from '../control/service-client.ts';
import {missingLayer} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

/** Node, but for the flags of its permission model. */
const UNCONFINED = `#!/bin/sh
for flag do
  shift
  case $flag in --permission | --allow-*) ;; *) set -- "$@" "$flag" ;; esac
done
exec "\${0%/bin/node}/lib/node" "$@"
`;

let base: string;
let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(base, 0o755);
  for (const name of ['bin', 'lib']) mkdirSync(join(base, name));
  copyFileSync(process.execPath, join(base, 'lib/node'));
  writeFileSync(join(base, 'bin/node'), UNCONFINED);
  for (const name of ['bin', 'bin/node', 'lib', 'lib/node']) chmodSync(join(base, name), 0o755);
  service = await Service.start({env: {[`SVC_NODE_${NODE_VERSION}`]: join(base, 'bin/node')}});
  tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
});
afterAll(async () => {
  await service.stop();
  rmSync(base, {recursive: true, force: true});
});
beforeEach(() => service.showLogOnFailure());

test('it writes nowhere, reads no file of its tenant or of others, and no memory of other processes', async ({
  skip,
}) => {
  skip(missingLayer(service, 'files') !== null, `no Landlock: ${missingLayer(service, 'files')}`);
  const {id} = await newSandbox(tenant, {runtime: 'node', node_version: NODE_VERSION});
  const directory = service.directoryOf(tenant.id)!;
  const paths = {
    directory,
    data: service.data,
    planted: join(base, 'planted'),
    shm: `/dev/shm/svc-planted-${process.pid}`,
  };
  const code = `
    const fs = require('fs');
    const tries = {
      system: () => fs.readFileSync('/etc/hosts'),
      cwd: () => fs.readdirSync('.'),
      code: () => fs.writeFileSync('planted', ''),
      link: () => fs.symlinkSync('/', 'link'),
      remove: () => fs.rmSync('package.json'),
      tenant: () => fs.readdirSync(args.directory),
      damaged: () => fs.writeFileSync(args.directory + '/damaged.txt', ''),
      server: () => fs.readdirSync(args.data),
      tmp: () => fs.writeFileSync(args.planted, ''),
      shm: () => fs.writeFileSync(args.shm, ''),
      memory: () => fs.openSync('/proc/' + process.ppid + '/mem', 'r+'),
    };
    const answers = {};
    for (const [name, make] of Object.entries(tries)) {
      try { make(); answers[name] = 'done'; } catch (error) { answers[name] = error.code; }
    }
    return answers;`;
  const {value} = await execute(tenant, id, {code, args: paths});
  expect(value).toEqual({
    system: 'done',
    cwd: 'done',
    ...Object.fromEntries(
      ['code', 'link', 'remove', 'tenant', 'damaged', 'server', 'tmp', 'shm', 'memory'].map(name => [name, 'EACCES']),
    ),
  });
  expect([existsSync(paths.planted), existsSync(paths.shm)]).toEqual([false, false]);
});
