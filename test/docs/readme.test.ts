/** The tour of README.md, run as it stands against a fresh server; its words before `node` bring Node 22, which is here already. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, expect, test} from 'vitest';
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
  const stdout = await runExamples('../README.md', service, asRun, {
    cwd: directory,
    env: {...process.env, SVC_URL: service.url, SVC_DATA: service.data},
  });
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

function asRun(example: string): string {
  return example
    .replace(/npx -y -p node@22 -c "node dist\/cli\.js ([^"]*)"/g, `'${process.execPath}' '${CLI}' $1`)
    .replace('--data data', `--data '${service.data}'`)
    .replace('/query/stream', '/query/stream?limit=1'); // a minute otherwise
}
