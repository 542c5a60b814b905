/** The copy that is kept before a file is migrated, and the way back to it, ended at each of their steps. */
import {cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, expect, test, vi} from 'vitest';
import {GOING_STEPS, goBack, isReturned} from '../../cli/data-directory/go-back.ts';
import {KEEPING_STEPS, keepBeforeUpgrade} from '../../engine/storage/before-upgrade.ts';
import {openReader} from '../../engine/storage/database.ts';
import {tenantTimeline} from '../../engine/storage/identity.ts';
import {STORAGE_VERSION} from '../../engine/storage/migrations.ts';
import {openTenantFile} from '../../engine/storage/tenant-file.ts';
import {readWrittenBy} from '../../engine/storage/written-by.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {createLogger} from '../../shared/log.ts';
import {LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {VERSION} from '../../shared/version.ts';
import {parseDirectoryName} from '../../supervisor/files/directory-name.ts';
import {forgetCopies, keptCopies} from '../../supervisor/files/kept-copies.ts';
import {KEPT_COPY_MS} from '../../supervisor/limits.ts';
import {KeptCopySweep} from '../../supervisor/tenants/kept-copy-sweep.ts';
import {directoryIn, fingerprint} from '../harness/data-directory.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';
import {rounds} from '../harness/nightly.ts';
import {fixtureVersions, numberOf, unpackFixture} from './fixture.ts';

const NOW_MS = 1_800_000_000_000;
const work = makeMemoryDirectory('svc-kept-copies-');
afterAll(() => rmSync(work, {recursive: true}));
const older = fixtureVersions().filter(version => version < STORAGE_VERSION);

class Ended extends Error {}
let places = 0;

/** The steps, the one with this number not made any more: there the process ends. */
function endsAt<S extends Record<string, (...args: never[]) => unknown>>(steps: S, last: number): S {
  let count = 0;
  const entries = Object.entries(steps).map(([name, step]) => [
    name,
    (...args: never[]) => {
      if (count++ === last) throw new Ended();
      return step(...args);
    },
  ]);
  return Object.fromEntries(entries) as S;
}

/** A data directory with the fixture's tenants, and the directory of this one. */
function unpacked(version: number, tenant: 'app' | 'killed'): {data: string; directory: string; owner: Owner} {
  const data = unpackFixture(version, join(work, `data-${places++}`), 'tenants');
  return found(data, `${tenant}-${numberOf(version)}`);
}

type Owner = {tenant: string; generation: number; createdMs: number};

function found(data: string, tenant: string): {data: string; directory: string; owner: Owner} {
  const directory = directoryIn(data, tenant)!;
  const {generation} = parseDirectoryName(basename(directory))!;
  return {data, directory, owner: {tenant, generation, createdMs: NOW_MS}};
}

/** As a worker that closes it in order. @returns the timeline of the file */
function openAndClose(directory: string, owner: Owner): string {
  const db = openTenantFile(directory, owner);
  const timeline = tenantTimeline(db);
  db.close();
  rmSync(join(directory, LOGGED_FILE), {force: true});
  return timeline;
}

const fileOf = (directory: string) => join(directory, TENANT_FILE);

function documentsOf(path: string): unknown[] {
  const db = openReader(path);
  try {
    return db.prepare('SELECT id, body FROM documents ORDER BY doc').all();
  } finally {
    db.close();
  }
}

function expectWhole(path: string, owner: Owner, version: number, documents: unknown[]): void {
  expect(verifyFile(path, owner).findings).toEqual([]);
  expect([readWrittenBy(path)?.version, documentsOf(path)]).toEqual([version, documents]);
}

/** What an old file has, read from a copy, because SQLite changes the log of a file that it reads. */
function documentsBefore(directory: string): unknown[] {
  const copy = join(work, `copy-${places++}`);
  cpSync(directory, copy, {recursive: true});
  return documentsOf(fileOf(copy));
}

test.each(rounds({commit: [1, 9, 16], nightly: older}))('version %i is kept before it is migrated', version => {
  for (const tenant of ['app', 'killed'] as const) {
    const {directory, owner} = unpacked(version, tenant);
    const documents = documentsBefore(directory);
    const timeline = openAndClose(directory, owner);
    expectWhole(fileOf(directory), owner, STORAGE_VERSION, documents);
    const [copy] = keptCopies(directory);
    expect(copy).toMatchObject({name: `v${version}`, note: {from: version, to: STORAGE_VERSION, svc: VERSION}});
    const kept = join(directory, 'before-upgrade', copy!.name, TENANT_FILE);
    expectWhole(kept, owner, version, documents);
    if (version < 3) continue;
    // Its history goes on in another way, so a follower of the migrated file must not take it for that one.
    expect(copy!.note.timeline).toBe(timeline);
    const reader = openReader(kept);
    expect(tenantTimeline(reader)).not.toBe(timeline);
    reader.close();
  }
});

test('a process that ends while it keeps the copy has changed nothing, and the next one keeps it', () => {
  for (let last = 0, isDone = false; !isDone; last++) {
    const {directory, owner} = unpacked(16, 'killed');
    const before = fingerprint(directory);
    const documents = documentsBefore(directory);
    try {
      keepBeforeUpgrade(directory, Date.now, endsAt(KEEPING_STEPS, last));
      isDone = true;
    } catch (caught) {
      if (!(caught instanceof Ended)) throw caught;
    }
    expect(fingerprint(directory).filter(line => !line.includes('before-upgrade'))).toEqual(before);
    openAndClose(directory, owner);
    expectWhole(fileOf(directory), owner, STORAGE_VERSION, documents);
    expectWhole(join(directory, 'before-upgrade/v16', TENANT_FILE), owner, 16, documents);
    expect(readdirSync(join(directory, 'before-upgrade'))).toEqual(['v16']);
    if (isDone) expect(last).toBeGreaterThan(8);
  }
});

test('a process that is killed at any step of a migration leaves a file that goes on, and the copy', () => {
  const {data, directory, owner} = unpacked(1, 'app');
  const documents = documentsBefore(directory);
  const states: string[] = [];
  const pragma = Database.prototype.pragma;
  // Called last in the transaction of each step, so the log has the steps before it.
  const spy = vi.spyOn(Database.prototype, 'pragma').mockImplementation(function (this: Database.Database, ...args) {
    if (/^user_version = /.test(args[0])) {
      states.push(join(work, `killed-${places++}`));
      cpSync(data, states.at(-1)!, {recursive: true});
    }
    return pragma.apply(this, args);
  });
  try {
    openAndClose(directory, owner);
  } finally {
    spy.mockRestore();
  }
  expect(states).toHaveLength(STORAGE_VERSION - 1);
  for (const state of states) {
    const killed = found(state, owner.tenant);
    openAndClose(killed.directory, owner);
    expectWhole(fileOf(killed.directory), owner, STORAGE_VERSION, documents);
    expect(readdirSync(join(killed.directory, 'before-upgrade'))).toEqual(['v1']);
    expectWhole(join(killed.directory, 'before-upgrade/v1', TENANT_FILE), owner, 1, documents);
  }
});

test('a way back that ends at any step leaves one of the two whole, and goes on', async () => {
  for (let last = 0, isDone = false; !isDone; last++) {
    const {data, directory, owner} = unpacked(16, 'app');
    const documents = documentsBefore(directory);
    const db = openTenantFile(directory, owner);
    db.exec("DELETE FROM index_entries; DELETE FROM indexes; UPDATE documents SET body = '{}', checksum = NULL");
    const [copy] = keptCopies(directory);
    const newer = documentsOf(fileOf(directory));
    expect(newer).not.toEqual(documents);
    // As a server that is killed leaves it: with a log.
    const killed = join(work, `killed-${places++}`);
    cpSync(data, killed, {recursive: true});
    db.close();
    const place = found(killed, owner.tenant).directory;
    const aside = join(killed, 'set-aside', `${basename(place)}.v${STORAGE_VERSION}`);
    try {
      await goBack(killed, place, copy!, endsAt(GOING_STEPS, last));
      isDone = true;
    } catch (caught) {
      if (!(caught instanceof Ended)) throw caught;
      const isOlder = readWrittenBy(fileOf(place))?.version === 16;
      // Otherwise both are there: what is in the place is the newer one, or nothing, which no svc serves.
      if (!isOlder) expectWhole(join(place, 'before-upgrade/v16', TENANT_FILE), owner, 16, documents);
      const [left] = keptCopies(place);
      if (left !== undefined) await goBack(killed, place, left);
    }
    expect(existsSync(`${fileOf(place)}-wal`)).toBe(false);
    expectWhole(fileOf(place), owner, 16, documents);
    expect(documentsOf(fileOf(aside))).toEqual(newer);
    // The older file is used, and upgraded again.
    openAndClose(place, owner);
    expectWhole(fileOf(place), owner, STORAGE_VERSION, documents);
    if (isDone) expect(last).toBeGreaterThan(8);
  }
});

test('a removal of a copy that was killed keeps no tenant from its next upgrade, and is finished', () => {
  for (const isNoteLeft of [false, true]) {
    const {directory, owner} = unpacked(15, 'app');
    const documents = documentsBefore(directory);
    const left = join(directory, 'before-upgrade/v12');
    mkdirSync(left, {recursive: true});
    const note = {format: 1, from: 12, to: 16, svc: VERSION, made_ms: 5, timeline: null, sequence: 0};
    if (isNoteLeft) writeFileSync(join(left, 'about.json'), JSON.stringify(note));
    openAndClose(directory, owner);
    expectWhole(join(directory, 'before-upgrade/v15', TENANT_FILE), owner, 15, documents);
    expect(forgetCopies(directory, 0)).toBe(0);
    expect(readdirSync(join(directory, 'before-upgrade'))).toEqual(['v15']);
  }
});

test('a way back that ended once the copy was in its place is not repeated with an older copy', async () => {
  const {data, directory, owner} = unpacked(16, 'app');
  openAndClose(directory, owner);
  cpSync(join(directory, 'before-upgrade/v16'), join(directory, 'before-upgrade/v15'), {recursive: true});
  const [copy] = keptCopies(directory);
  const removeCopy = () => {
    throw new Ended();
  };
  expect(isReturned(directory)).toBe(false);
  await expect(goBack(data, directory, copy!, {...GOING_STEPS, removeCopy})).rejects.toThrow(Ended);
  expect(isReturned(directory)).toBe(true);
  forgetCopies(directory, 0);
  expect(isReturned(directory)).toBe(false);
});

test('copies are removed after seven days', async () => {
  const {directory, owner} = unpacked(15, 'app');
  openAndClose(directory, owner);
  const [{note}] = keptCopies(directory) as [ReturnType<typeof keptCopies>[0]];
  const sweep = new KeptCopySweep(() => [join(work, 'nowhere'), directory], createLogger({process: 'supervisor'}));
  await sweep.run(note.made_ms + KEPT_COPY_MS);
  expect(keptCopies(directory)).toHaveLength(1);
  await sweep.run(note.made_ms + KEPT_COPY_MS + 1);
  expect(existsSync(join(directory, 'before-upgrade'))).toBe(false);
});
