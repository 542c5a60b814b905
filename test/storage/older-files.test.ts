/** Files of every storage version that there was: they open, nothing of them is another, and they can be written. */
import {copyFileSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {createCron, runCronNow} from '../../engine/scheduler/crons.ts';
import {scheduleJob} from '../../engine/scheduler/jobs.ts';
import {addIndexes} from '../../engine/schema/install.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {claimFile} from '../../engine/storage/identity.ts';
import {STORAGE_VERSION} from '../../engine/storage/migrations.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {makeOlder} from '../harness/older-file.ts';

/** Before it a file has no timeline, which is its own for ever. */
const FIRST_VERSION = 3;
const NOW_MS = 1_800_000_000_000;
const WORK = JSON.stringify({type: 'insert', table: 'later', fields: {}});
const OWNER = {tenant: 'a', generation: 1, createdMs: NOW_MS};
/** What an older file can have, too. */
const KEPT = [
  'SELECT doc, id, created, updated, body FROM documents',
  'SELECT number, name, last_n, fields FROM tables',
  'SELECT number, name, fields, state, is_unique FROM indexes',
  'SELECT * FROM index_entries',
  'SELECT sequence, record, digest FROM journal',
  'SELECT id, run_at, mutation FROM jobs',
  'SELECT name, interval_ms, mutation, enabled, next_run FROM crons',
];

let directory: string;
let current: string;

function write<T>(db: Connection, change: (writer: Writer) => T): T {
  const writer = new Writer(db, Catalog.read(db), () => NOW_MS);
  writer.statements.begin.run();
  const made = change(writer);
  writer.appendRecord();
  writer.counters.write();
  writer.numbers.store(false);
  writer.statements.commit.run();
  writer.numbers.committed();
  writer.commit();
  writer.endGroup();
  return made;
}

const kept = (db: Connection) => KEPT.map(statement => db.prepare(statement).raw().all());
const definitions = (db: Connection) =>
  db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').raw().all();
const rhythm = {interval_ms: 60_000, expression: null, time_zone: null};
const runNothing = () => undefined;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-older-'));
  current = join(directory, 'current.sqlite');
  const db = openWriter(current);
  claimFile(db, OWNER);
  write(db, writer => addIndexes(writer, writer.table('t'), [{name: 'by_n', fields: ['n']}]));
  db.exec("UPDATE indexes SET state = 'enabled'");
  for (let n = 0; n < 20; n++) write(db, insertEffect('t', {n}));
  write(db, writer => scheduleJob(writer, NOW_MS, 60_000, WORK));
  write(db, writer => createCron(writer, NOW_MS, 'minutely', rhythm, WORK));
  write(db, writer => runCronNow(writer, NOW_MS, 'minutely', runNothing));
  write(db, insertEffect('t', {n: 20}, 'known'));
  db.close();
});
afterAll(() => rmSync(directory, {recursive: true}));

test('version 2, which has no timeline, can be verified', () => {
  const path = join(directory, 'second.sqlite');
  copyFileSync(current, path);
  const older = new Database(path);
  makeOlder(older, 2);
  older.close();
  expect(verifyFile(path, OWNER)).toMatchObject({documents: 22, findings: []});
});

const versions = Array.from({length: STORAGE_VERSION - FIRST_VERSION}, (_, i) => FIRST_VERSION + i);

test.each(versions)('version %i', version => {
  const path = join(directory, `${version}.sqlite`);
  copyFileSync(current, path);
  const older = new Database(path);
  const before = kept(older);
  const newest = definitions(older);
  makeOlder(older, version);
  expect(definitions(older)).not.toEqual(newest);
  const states = () => older.prepare("UPDATE indexes SET state = 'failed'").run();
  if (version < 14) expect(states).toThrow('CHECK');
  older.close();
  expect(verifyFile(path, OWNER)).toMatchObject({documents: 22, findings: []});

  const db = openWriter(path);
  expect([kept(db), definitions(db)]).toEqual([before, newest]);
  write(db, insertEffect('t', {n: 21}));
  write(db, patchEffect('t', 'known', {patch: {n: 22}}));
  write(db, writer => addIndexes(writer, writer.table('u'), [{name: 'by_m', fields: ['m'], unique: true}]));
  write(db, writer =>
    createCron(writer, NOW_MS, 'hourly', {...rhythm, interval_ms: 0, expression: '@hourly', time_zone: 'UTC'}, WORK),
  );
  write(db, writer => runCronNow(writer, NOW_MS, 'hourly', runNothing));
  db.close();
  expect(verifyFile(path, OWNER)).toMatchObject({documents: 24, indexEntries: 22, findings: []});
});
