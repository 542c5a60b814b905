/**
 * Writes transactions as fast as it can until it is killed: argv[2] is the database, argv[3] a seed. After each commit its number
 * goes to standard output: what was printed is on disk. Small and large transactions, with a cache so small that pages are
 * written before their commit (and again), roll-backs, and checkpoints that begin new rounds of the log.
 */
const {writeSync} = require('node:fs');
const Database = require('better-sqlite3');

const db = new Database(process.argv[2]);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.pragma('wal_autocheckpoint = 0');
db.pragma('cache_size = 8');
db.exec('CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, text TEXT)');
const insert = db.prepare('INSERT INTO t VALUES (?, ?)');
const update = db.prepare('UPDATE t SET text = ? WHERE n > ?');
let state = Number(process.argv[3]) >>> 0;
const random = below => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) % below;
};
let next = (db.prepare('SELECT max(n) FROM t').pluck().get() ?? 0) + 1;
for (;;) {
  const rows = random(10) === 0 ? 60 : 1 + random(4);
  const isTaken = random(8) !== 0;
  const first = next;
  db.exec('BEGIN IMMEDIATE');
  for (let i = 0; i < rows; i++) insert.run(next++, 'x'.repeat(random(3_000)));
  if (rows > 4) update.run('y'.repeat(1_000), first - 20);
  if (isTaken) {
    db.exec('COMMIT');
    writeSync(1, `${next - 1}\n`);
  } else {
    db.exec('ROLLBACK');
    next = first;
  }
  if (random(40) === 0) db.pragma('wal_checkpoint(PASSIVE)');
}
