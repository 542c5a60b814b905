/**
 * docs/upgrading.md, run as it stands on a directory that a server of version 16 left. A script stands in for systemd:
 * it starts the server of today, uses a tenant, and stops it.
 */
import {mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {directoryIn} from '../harness/data-directory.ts';
import {Service} from '../harness/service.ts';
import {unpackFixture} from '../upgrades/fixture.ts';
import {runExamples} from './shell-examples.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'svc-upgrading-'));
const data = unpackFixture(16, join(directory, 'data'));
afterAll(() => rmSync(directory, {recursive: true, force: true}));

const OF_SYSTEMD = `#!/bin/bash
if [ "$1" = stop ]; then
  # It does not run yet when the page begins.
  [ ! -e pid ] || { kill "$(cat pid)"; tail --pid="$(cat pid)" -f /dev/null; }
  exit
fi
node ${root}/dist/cli.js start --port 0 --data ${data} > out 2> log < /dev/null & echo $! > pid
until grep -q 'svc listening' out; do sleep 0.1; done
url=$(sed -n 's/^svc listening on //p' out)
token=$(sed -n 's/.*"access_token": *"\\([^"]*\\)".*/\\1/p' ${data}/admin.json)
curl -sS --fail-with-body -o /dev/null -H "Authorization: Bearer $token" $url/api/tenants/app-16/documents -d '{"table": "t", "fields": {}}'
`;

const URL_OF_SERVER = "SVC_URL=$(sed -n 's/^svc listening on //p' out)";

test('every line runs, and the tenant has the version and the documents of before', async () => {
  mkdirSync(join(directory, 'bin'));
  symlinkSync(join(root, 'dist/cli.js'), join(directory, 'bin/svc'));
  writeFileSync(join(directory, 'bin/systemctl'), OF_SYSTEMD, {mode: 0o755});
  const PATH = `${join(directory, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`;
  // The copies of this run are still wanted afterwards.
  const asRun = (example: string) =>
    example.startsWith('svc upgrade --forget')
      ? ''
      : example.replaceAll('/var/lib/svc', data).replace('svc upgrade --all', `${URL_OF_SERVER} svc upgrade --all`);
  const noService = {url: '', data, showLogOnFailure: () => undefined};
  const stdout = await runExamples('upgrading.md', noService, asRun, {cwd: directory, env: {...process.env, PATH}});
  expect(stdout).toMatch(/^app-16 {2}storage version 16$/m);
  expect(stdout).toMatch(/^app-16 {2}storage version 17 {2}written by svc \S+ {2}version 16 kept until \S+$/m);
  expect(stdout).toMatch(/^app-16: the copy of version 16 .* \d writes of documents since then are lost: sequence/m);
  expect(stdout).toMatch(
    /^app-16 has storage version 16 again; the newer file is in .*\/set-aside\/t_app-16_65\.v17$/m,
  );
  expect(stdout).toContain('all is well');
}, 60_000);

test('without --yes nothing is done if writes would be lost, and --forget removes the copies', async () => {
  const service = await Service.start({data});
  const {status} = await service.post('/api/tenants/app-16/documents', {table: 't', fields: {}});
  expect(status).toBe(201);
  const inUse = await svc(['upgrade', '--back', 'app-16', '--data', data]);
  expect(inUse).toMatchObject({code: 1, stderr: expect.stringContaining('is in use by a server')});
  await service.end('SIGTERM');
  const refused = await svc(['upgrade', '--back', 'app-16', '--data', data]);
  expect(refused).toMatchObject({code: 1, stderr: expect.stringContaining('nothing was done')});
  const listed = await svc(['upgrade', '--json', '--data', data]);
  expect(JSON.parse(listed.stdout.split('\n')[0]!)).toMatchObject({
    ...{tenant: 'app-16', storage_version: 17, kept: [{storage_version: 16}]},
  });
  const forgotten = await svc(['upgrade', '--forget', '--data', data]);
  expect(forgotten).toMatchObject({code: 0, stdout: expect.stringMatching(/^(1 copy was|2 copies were) removed\n$/)});
  const gone = await svc(['upgrade', '--back', 'app-16', '--yes', '--data', data]);
  expect(gone).toMatchObject({code: 1, stderr: expect.stringContaining('there is no copy from before an upgrade')});
  expect(directoryIn(data, 'app-16')).not.toBeNull();
}, 60_000);
