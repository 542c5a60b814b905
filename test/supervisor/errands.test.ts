/** Errands in real worker processes: what they do to a file that came from elsewhere, and what ends them. */
import {copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {numberTransaction, storedCommitNumber} from '../../engine/storage/commit-number.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {claimFile, readIdentity} from '../../engine/storage/identity.ts';
import type {ServiceError} from '../../shared/errors.ts';
import type {AdoptCheck} from '../../shared/ipc/errand.ts';
import {ADOPT_FILE, type AdoptNote, LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import type {Worker} from '../../supervisor/processes/worker-pool.ts';
import type {Errands, ErrandsParts} from '../../supervisor/tenants/errands.ts';
import {step} from '../../supervisor/tenants/lifecycle.ts';
import type {Input} from '../../supervisor/tenants/lifecycle-states.ts';
import {TenantEntry} from '../../supervisor/tenants/tenant-entry.ts';
import {Receiver} from '../copies/receiver.ts';
import {errandsIn} from './errands-in.ts';

const data = mkdtempSync(join(tmpdir(), 'svc-errands-'));
const NOTE: AdoptNote = {
  tenant: 'b',
  generation: 7,
  created_ms: 5,
  timeline: 'ab'.repeat(16),
  origin: null,
  replaces: null,
  serve: 'reads',
};
const source = join(data, 'source.sqlite');
let directory = '';
let place: Parameters<Errands['runIn']>[0];
let made = 0;

beforeAll(() => {
  const db = openWriter(source);
  claimFile(db, {tenant: 'a', generation: 3, createdMs: 1});
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
});
beforeEach(() => {
  directory = join(data, `i_${++made}`);
  place = {directory, tenant: 'b', generation: 7, createdMs: 5, runsCode: false};
  mkdirSync(directory);
  copyFileSync(source, join(directory, TENANT_FILE));
  writeFileSync(join(directory, ADOPT_FILE), JSON.stringify(NOTE));
});
afterAll(() => rmSync(data, {recursive: true}));

const errands = (parts: Partial<ErrandsParts> = {}) => errandsIn(data, parts);

function adopt(check: AdoptCheck = 'structure'): Promise<unknown> {
  return errands().runIn(place, {kind: 'adopt', check});
}

function identityNow(): {identity: ReturnType<typeof readIdentity>; origin: unknown} {
  const db = new Database(join(directory, TENANT_FILE), {readonly: true});
  const origin = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'tenant_origin'").pluck().get();
  const identity = readIdentity(db);
  db.close();
  return {identity, origin: JSON.parse(origin!)};
}

test('a file becomes that of the tenant in the note, and remembers where it came from, however often', async () => {
  const before = new Database(source, {readonly: true});
  const {timeline} = readIdentity(before)!;
  before.close();
  for (const check of ['whole', 'structure'] as const) {
    expect(await adopt(check)).toEqual({timeline: NOTE.timeline});
    expect(identityNow()).toEqual({
      identity: {tenant: 'b', generation: 7, createdMs: 5, timeline: NOTE.timeline},
      origin: {timeline, commit: expect.any(Number)},
    });
  }
});

test.each<[string, (path: string) => void, RegExp]>([
  ['no SQLite file', path => writeFileSync(path, 'x'.repeat(8192)), /it is not an SQLite file/],
  ['another SQLite file', path => change(path, 'PRAGMA application_id = 1'), /is not the file of a tenant/],
  ['a later version', path => change(path, 'PRAGMA user_version = 99'), /has storage version 99, and this svc knows/],
  ['a trigger', path => change(path, 'CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM jobs; END'), /trigger t/],
  ['a view', path => change(path, 'CREATE VIEW v AS SELECT 1'), /has the view v, which svc did not make/],
  ['a table less', path => change(path, 'DROP TABLE idempotency'), /lacks the .*idempotency/],
  [
    'a changed row',
    path => change(path, "UPDATE meta SET value = 5 WHERE key = 'journal_floor'"),
    /^the file cannot be a tenant's: ./,
  ],
])('a file with %s is refused, and says why', async (_, damage, why) => {
  damage(join(directory, TENANT_FILE));
  await expect(adopt()).rejects.toMatchObject({code: 'op.invalid_input', message: expect.stringMatching(why)});
});

test('a base of a file that no process has open is written beside it', async () => {
  await adopt();
  expect(await errands().runIn(place, {kind: 'base'})).toEqual({commit: expect.any(Number)});
  const receiver = new Receiver(directory, join(directory, 'copy'));
  receiver.receive(1);
  receiver.close();
  expect(readFileSync(join(directory, 'copy')).equals(readFileSync(join(directory, TENANT_FILE)))).toBe(true);
  writeFileSync(join(directory, LOGGED_FILE), '');
  await expect(errands().runIn(place, {kind: 'base'})).rejects.toMatchObject({code: 'op.storage_damaged'});
  for (const name of [LOGGED_FILE, ADOPT_FILE]) rmSync(join(directory, name));
  change(join(directory, TENANT_FILE), 'PRAGMA user_version = 16');
  expect(await errands().runIn(place, {kind: 'base'})).toEqual({commit: null});
});

test('a base of a file that begins a new timeline has it, and the commits of a log that no close has emptied', async () => {
  rmSync(join(directory, ADOPT_FILE));
  const db = openWriter(join(directory, TENANT_FILE));
  db.transaction(() => numberTransaction(db)).immediate();
  const [commit, {timeline}] = [storedCommitNumber(db), readIdentity(db)!];
  const open = directory;
  directory = `${open}-killed`;
  cpSync(open, directory, {recursive: true});
  db.close();
  const note = {...NOTE, tenant: 'a', generation: 3, created_ms: 1, is_own: true} satisfies AdoptNote;
  writeFileSync(join(directory, ADOPT_FILE), JSON.stringify(note));
  writeFileSync(join(directory, LOGGED_FILE), '');
  for (let round = 0; round < 2; round++) {
    const made = await errands().runIn({...place, directory}, {kind: 'base'});
    expect([made, identityNow().identity]).toMatchObject([
      {commit: commit + 1},
      {tenant: 'a', timeline: NOTE.timeline},
    ]);
  }
  expect(identityNow().origin).toEqual({timeline, commit});
  writeFileSync(join(directory, LOGGED_FILE), '');
  await expect(errands().runIn({...place, directory}, {kind: 'base'})).rejects.toMatchObject({
    code: 'op.storage_damaged',
  });
});

test('a wake ends the errand of a tenant, which goes first', async () => {
  const entry = new TenantEntry({id: 'b', generation: 7, createdMs: 5}, {isMarkedAwake: false, isToOpen: false});
  const give = (_: TenantEntry, input: Input): void => {
    const {next, effects} = step(entry.lifecycle, input, 0);
    entry.lifecycle = next;
    for (const {type} of effects) {
      if (type === 'start_errand') {
        entry.startErrand?.();
        give(entry, {type: 'want', requested: true});
      }
      if (type === 'kill') (entry.worker as Worker).child.kill();
    }
  };
  const placement = {find: () => entry, give, errandEnded: () => give(entry, {type: 'ended', error: null})};
  const done = errands({placement}).runFor('b', {kind: 'adopt', check: 'structure'});
  await expect(done).rejects.toMatchObject({code: 'op.conflict'} satisfies Partial<ServiceError>);
  expect(entry.lifecycle.state).toBe('queued');
});

function change(path: string, sql: string): void {
  const db = new Database(path);
  db.exec(sql);
  db.close();
}
