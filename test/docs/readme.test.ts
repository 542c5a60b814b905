/** README.md and the tour, run as they stand against a fresh server; the words before `node` bring Node 22, which is here already. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {STORAGE_VERSION} from '../../engine/storage/migrations.ts';
import {pageText} from '../harness/docs-project.ts';
import {Service} from '../harness/service.ts';
import {runExamples} from './shell-examples.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

let service: Service;
let directory: string;
beforeAll(async () => {
  service = await Service.start();
  directory = mkdtempSync(join(tmpdir(), 'tour-'));
});
afterAll(async () => {
  await service.stop();
  rmSync(directory, {recursive: true, force: true});
});

test('every command of the tour that needs no browser and no package does what is said of it', async () => {
  // The demo fills it with 135,000.
  expect((await service.request('POST', '/api/tenants', {id: 'atlas'})).status).toBe(201);
  const city = {table: 'cities', fields: {name: 'Basel', country: 'CH', population: 164_488}};
  expect((await service.request('POST', '/api/tenants/atlas/documents', city)).status).toBe(201);
  const stdout = await runExamples('tour.md', service, asRun, here());
  for (const shown of [
    '"name":"Basel"', // ask
    '{"count":0}', // count
    '"seen":true,"stars":5', // write
    '"id":"pen","version":', // together
    'field \\"title\\" must be of type string', // constrain
    'event: open\nid: 0\n', // follow
    '"outcome":"completed"', // later
    '"title":"from the past"', // live
    '"scopes":["data:read"],"tenants":["acme"],"tables":["notes"]', // less than everything
    '"code":"auth.forbidden"',
    '2 tenants checked: all is well', // check
    'exported 3 documents', // take it with you
    'imported 3 documents',
  ]) {
    expect(stdout).toContain(shown);
  }
});

test('every command of README.md that needs no browser works', async () => {
  const stdout = await runExamples('../README.md', service, asRun, here());
  expect(stdout).toContain('{"id":"hello"}');
  expect(stdout).toMatch(/^http:\/\/dashboard\.localhost:\d+\/_dashboard\/#code=/m);
  expect(stdout).toMatch(/"title":"first"[\s\S]*"title":"first"/);
});

test('the change log names the version and the storage version of the code', () => {
  const [, version] = /^ {2}"version": "(.+)",$/m.exec(pageText('../package.json'))!;
  const [, newest, storage] = /^## (\S+)[\s\S]*?^Storage version (\d+)\.$/m.exec(pageText('../CHANGELOG.md'))!;
  expect([newest, Number(storage)]).toEqual([version, STORAGE_VERSION]);
});

const here = () => ({cwd: directory, env: {...process.env, SVC_URL: service.url, SVC_DATA: service.data}});

function asRun(example: string): string {
  return example
    .replace(/npx -y -p node@22 -c "node dist\/cli\.js ([^"]*)"/g, `'${process.execPath}' '${CLI}' $1`)
    .replace('--data data', `--data '${service.data}'`)
    .replace('/query/stream', '/query/stream?limit=1'); // a minute otherwise
}
