/**
 * The ceiling of storage: better-sqlite3 in a loop, without HTTP, journal or tenants. WAL and synchronous=FULL, as svc has.
 * Prints operations a second as JSON.
 */
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {benchDocument, CATEGORIES, ITEMS, QUERY_LIMIT} from '../../documents.ts';
import type {SqliteResult} from './run.ts';

const [directory, secondsText] = process.argv.slice(2);
const seconds = Number(secondsText);
const db = new Database(join(directory!, 'raw.sqlite'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec(`
  CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, category TEXT, rank INTEGER, body TEXT);
  CREATE INDEX IF NOT EXISTS by_category_rank ON items (category, rank);
  CREATE TABLE IF NOT EXISTS inserts (id INTEGER PRIMARY KEY, body TEXT);
`);
const bodies = Array.from({length: 1_000}, (_, i) => JSON.stringify(benchDocument(i)));
const fill = db.prepare('INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?)');
db.transaction(() => {
  for (let i = 0; i < ITEMS; i++) {
    const {category, rank} = benchDocument(i);
    fill.run(i, category, rank, bodies[i % bodies.length]);
  }
})();

const get = db.prepare('SELECT body FROM items WHERE id = ?').pluck();
const query = db.prepare(`SELECT body FROM items WHERE category = ? ORDER BY rank DESC LIMIT ${QUERY_LIMIT}`).pluck();
const insert = db.prepare('INSERT INTO inserts (body) VALUES (?)');
const insertMany = db.transaction((from: number, count: number) => {
  for (let i = from; i < from + count; i++) insert.run(bodies[i % bodies.length]);
});

const result: SqliteResult = {
  get: perSecond(1, i => get.get((i * 7_919) % ITEMS)),
  query: perSecond(1, i => query.all(`c${i % CATEGORIES}`)),
  insert1: perSecond(1, i => insertMany(i, 1)),
  insert8: perSecond(8, i => insertMany(i, 8)),
  insert64: perSecond(64, i => insertMany(i, 64)),
};
db.close();
process.stdout.write(JSON.stringify(result));

function perSecond(operationsEach: number, run: (index: number) => void): number {
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  let runs = 0;
  let now = startedMs;
  while (now < endMs) {
    for (let i = 0; i < 16; i++) run(runs++);
    now = performance.now();
  }
  return (runs * operationsEach * 1_000) / (now - startedMs);
}
