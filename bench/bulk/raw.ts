/**
 * What bounds an import from above: raw better-sqlite3 inserts the same lines, unread, 1,000 in a transaction with fsync. Prints
 * documents a second and the processor time of one as JSON.
 */
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {cities} from './cities.ts';
import type {BulkFigures} from './measure.ts';

const [directory] = process.argv.slice(2);
const db = new Database(join(directory!, 'bulk.sqlite'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('CREATE TABLE cities (id INTEGER PRIMARY KEY, body TEXT)');
const insert = db.prepare('INSERT INTO cities (body) VALUES (?)');
const insertAll = db.transaction((lines: string[]) => {
  for (const line of lines) insert.run(line);
});
const {count, chunks} = cities();

const startedMs = performance.now();
const before = process.cpuUsage();
for (const chunk of chunks) insertAll(chunk.toString().trimEnd().split('\n'));
const {user, system} = process.cpuUsage(before);
const seconds = (performance.now() - startedMs) / 1_000;
db.close();
const figures: BulkFigures = {perS: count / seconds, cpuUs: (user + system) / count};
process.stdout.write(JSON.stringify(figures));
