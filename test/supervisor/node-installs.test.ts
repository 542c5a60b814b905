/** Versions of Node that npm brings, on a server whose home cannot be written, as under the systemd unit. */
import {chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {nodeExecutable, nodeHome} from '../../shared/node-package.ts';
import {nodeVariables} from '../functions/node/node-app.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const REGISTRY = 'https://registry.internal.example/node';

let base: string;
let service: Service;
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(base, 0o711);
  const {SVC_NODE_24: node} = await nodeVariables();
  // Does what npm does with these arguments, for one version. It needs a home and a cache as npm does.
  const npm = `#!/bin/sh
mkdir "$npm_config_cache" && : >"$HOME/.npm-was-here" || exit 3
echo "$HOME $npm_config_cache" >'${base}/places'
case "$*" in
  *@24\\ *) mkdir -p '${nodeExecutable('.').replace(/\/node$/, '')}' && ln -s '${node}' '${nodeExecutable('.')}' ;;
  *) echo 'npm error code E404
npm error 404 Not Found - GET ${REGISTRY}' >&2; exit 1 ;;
esac
`;
  writeFileSync(join(base, 'npm'), npm, {mode: 0o755});
  const data = join(base, 'data');
  mkdirSync(join(data, 'node', '26-ab12CD'), {recursive: true});
  service = await Service.start({data, env: {HOME: '/proc/nowhere', PATH: `${base}:${process.env.PATH}`}});
}, 300_000);
afterAll(async () => {
  await service.stop();
  rmSync(base, {recursive: true, force: true});
});

test('come with a home and a cache below the data directory, which are gone afterwards', async () => {
  service.showLogOnFailure();
  const tenant = await Tenant.make(service);
  const path = `/api/tenants/${tenant.id}/sandboxes`;
  const {status, body} = await service.post(path, {runtime: 'node', node_version: '24'});
  expect(status).toBe(201);
  const executed = await service.post(`${path}/${(body as {sandbox: {id: string}}).sandbox.id}/execute`, {
    code: 'return process.version',
  });
  expect(executed.text).toContain('"v24.');
  const places = readFileSync(join(base, 'places'), 'utf8').trim().split(' ');
  for (const place of places) {
    expect(place).toContain(join(service.data, 'node', '24-'));
    expect(existsSync(place)).toBe(false);
  }
  expect(readdirSync(join(service.data, 'node'))).toEqual([nodeHome('.', '24')]); // nothing of an installation that was cut short
});

test('which cannot be had are refused without a word of the registry, which is in the log', async () => {
  const tenant = await Tenant.make(service);
  const refused = await service.post(`/api/tenants/${tenant.id}/sandboxes`, {runtime: 'node', node_version: '26'});
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('Start the server with SVC_NODE_26');
  expect(refused.text).not.toContain('registry.internal');
  expect(refused.text).not.toContain(service.data);
  await until('the reason in the log', () => service.log.includes(REGISTRY));
});
