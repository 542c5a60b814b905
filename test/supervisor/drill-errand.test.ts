/** The errand of a drill in a real worker process: the file is checked, its functions start, and nothing else runs. */
import {copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {drilledFileIn, type ExpectedPoint} from '../../shared/ipc/drill.ts';
import {App} from '../functions/app.ts';
import {sharedService} from '../harness/shared-service.ts';
import {pointOf} from '../verify/point-of.ts';
import {errandsIn} from './errands-in.ts';

const FUNCTIONS = {
  'm.ts': `
    import {mutation, query} from './_generated/server';
    import {v} from 'svc/values';
    export const a = query({args: {needed: v.string()}, handler: () => 1});
    export const b = query(() => { throw new Error('not signed in'); });
    export const c = query(ctx => ctx.db.query('t').collect());
    export const d = mutation(() => null);`,
};
const service = await sharedService();
const data = mkdtempSync(join(tmpdir(), 'svc-test-drill-'));
const source = join(data, 'source.sqlite');
let app: App;
let expected: ExpectedPoint;

beforeAll(async () => {
  app = await App.deploy(service, FUNCTIONS);
  await app.admin('POST', '/documents', {table: 't', fields: {n: 1}});
  await app.admin('POST', '/crons', {name: 'tick', schedule: {type: 'interval', seconds: 1}, mutation: INSERT});
  expect((await app.admin('POST', '/pause')).status).toBe(200);
  copyFileSync(join(service.directoryOf(app.tenant)!, 'tenant.sqlite'), source);
  const {digest, ...point} = pointOf(source);
  expected = {...point, digest: digest.toString('hex')};
});
afterAll(() => rmSync(data, {recursive: true}));

const INSERT = {type: 'insert', table: 't', fields: {n: 2}};

async function drill(of = expected): Promise<unknown> {
  const directory = join(data, 'drill-1');
  mkdirSync(directory);
  try {
    copyFileSync(source, join(directory, 'tenant.sqlite'));
    const place = {directory, tenant: app.tenant, generation: 0, createdMs: 0, runsCode: true};
    return await errandsIn(data).runIn(place, {kind: 'drill', expected: of});
  } finally {
    rmSync(directory, {recursive: true});
  }
}

test('a sound file passes all checks, and a query without required arguments is called', async () => {
  const found = drilledFileIn(await drill());
  expect(found).toEqual({
    checks: ['pages', 'identity', 'head', 'content'].map(check => ({check, findings: []})),
    report: expect.objectContaining({records: expected.sequence}),
    functions: 'started',
    query: 'm:c returned',
    functionFindings: [],
  });
});

test('a file with another byte is not opened, and its code does not start', async () => {
  const before = readFileSync(source);
  const changed = Buffer.from(before);
  changed[changed.length - 1]! ^= 1;
  writeFileSync(source, changed);
  try {
    expect(await drill()).toMatchObject({
      checks: [{check: 'pages', findings: [expect.stringContaining('its pages are not those')]}],
      functions: 'not_started',
    });
  } finally {
    writeFileSync(source, before);
  }
});

test('an answer of another form is refused', async () => {
  const sound = (await drill()) as object;
  for (const wrong of [null, 1, {}, {...sound, functions: 'ran'}, {...sound, checks: [{check: 'x', findings: []}]}]) {
    expect(drilledFileIn(wrong)).toBeNull();
  }
});
