/** Files that a running server makes tenants of: how many arrive at once, and what is left of those that fail. */
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import {packagesBeside} from '../../supervisor/files/adoption.ts';
import {INCOMING_FILES_MAX} from '../../supervisor/limits.ts';
import {Adoptions, type AdoptionsParts} from '../../supervisor/tenants/adoptions.ts';
import {TenantUsers} from '../../supervisor/tenants/tenant-users.ts';

const log = createLogger({}, {level: 'error', write: () => undefined});
const FILE = {tenant: 'a', replace: false, live: false};
const ORIGIN = {timeline: 'ab'.repeat(16), commit: 3};
const unavailable = new ServiceError('session.worker_unavailable', 'the copier does not answer');

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
});
afterEach(() => rmSync(directory, {recursive: true}));

function adoptions(parts: Partial<AdoptionsParts> = {}): Adoptions {
  return new Adoptions({
    tenants: {checkAdoption: () => undefined, adopt: () => Promise.reject(new Error('nothing is adopted'))},
    errands: {runIn: () => Promise.resolve(null)},
    users: new TenantUsers(null, directory, log),
    statusOf: () => Promise.resolve(null),
    directoryOf: () => null,
    directory,
    log,
    ...parts,
  });
}

test('files that the server makes count with the uploads, and one too many is refused', async () => {
  const arriving = adoptions();
  const ends: ((error: Error) => void)[] = [];
  const restores = Array.from({length: INCOMING_FILES_MAX - 1}, () =>
    arriving.takeIn(FILE, () => new Promise((_, reject) => ends.push(reject))),
  );
  const upload = (await arriving.perform({action: 'file_expected', ...FILE}, 0)) as {id: string};
  const refused = {code: 'session.overloaded'};
  await expect(arriving.takeIn(FILE, () => Promise.reject(unavailable))).rejects.toMatchObject(refused);
  await expect(arriving.perform({action: 'file_expected', ...FILE}, 0)).rejects.toMatchObject(refused);
  await arriving.perform({action: 'file_dropped', upload: upload.id}, 0);
  await expect(arriving.takeIn(FILE, () => Promise.reject(unavailable))).rejects.toBe(unavailable);
  const refusals = Promise.allSettled(restores);
  for (const end of ends) end(unavailable);
  expect(await refusals).toEqual(restores.map(() => ({status: 'rejected', reason: unavailable})));
});

test.each<[string, boolean]>([
  ['made in part', false],
  ['refused by the errand', true],
])('nothing is left of a file that is %s', async (_, isMade) => {
  const make = async (path: string) => {
    mkdirSync(`${path}.restoring`);
    mkdirSync(packagesBeside(path));
    writeFileSync(join(packagesBeside(path), 'x.tgz.part'), '');
    writeFileSync(path, '');
    if (!isMade) throw unavailable;
    return {origin: ORIGIN, result: null};
  };
  const note = {tenant: 'a', generation: 1, created_ms: 0, timeline: '', origin: null, replaces: null};
  const tenants: AdoptionsParts['tenants'] = {
    checkAdoption: () => undefined,
    adopt: async (_id, _how, prepare) => void (await prepare({...note, serve: 'reads'})),
  };
  const arriving = adoptions({tenants, errands: {runIn: () => Promise.reject(unavailable)}});
  await expect(arriving.takeIn(FILE, make)).rejects.toBe(unavailable);
  expect(readdirSync(directory)).toEqual([]);
});

test('packages that wait beside a file come with it', async () => {
  let found = '';
  const tenants: AdoptionsParts['tenants'] = {
    checkAdoption: () => undefined,
    adopt: async (tenant, {origin, serve}, prepare) => {
      const created = {tenant, generation: 1, created_ms: 0, timeline: '', replaces: null};
      found = readFileSync(join(await prepare({...created, origin, serve}), 'packages', 'x.tgz'), 'utf8');
    },
  };
  const done = await adoptions({tenants}).takeIn(FILE, async path => {
    writeFileSync(path, '');
    mkdirSync(packagesBeside(path));
    writeFileSync(join(packagesBeside(path), 'x.tgz'), 'a package');
    return {origin: ORIGIN, result: 'done'};
  });
  expect([done, found]).toEqual(['done', 'a package']);
  expect(readdirSync(directory)).toEqual([]);
});
