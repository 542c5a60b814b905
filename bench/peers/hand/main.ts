/**
 * What a team would write by hand to be fast: one process, uWebSockets.js and better-sqlite3, the inserts of a turn in one
 * transaction with one fsync (WAL, synchronous=FULL). No tenants, journal, schemas, live queries or limits.
 *
 *   GET /documents/{id}   POST /documents {…}   POST /query {category}
 */

import type * as Uws from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {createRequire} from 'node:module';
import Database from 'better-sqlite3';
import {type BenchDocument, benchDocument, ITEMS, QUERY_LIMIT, WIDE_ITEMS, wideDocument} from '../../documents.ts';

const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
const db = new Database(process.argv[2]!);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec(`
  CREATE TABLE items (id INTEGER PRIMARY KEY, category TEXT, rank INTEGER, body TEXT NOT NULL);
  CREATE INDEX by_category_rank ON items (category, rank);
`);
const insert = db.prepare<[string, number, string]>('INSERT INTO items (category, rank, body) VALUES (?, ?, ?)');
const get = db.prepare<[number], string>('SELECT body FROM items WHERE id = ?').pluck();
const query = db
  .prepare<[string], string>(`SELECT body FROM items WHERE category = ? ORDER BY rank DESC LIMIT ${QUERY_LIMIT}`)
  .pluck();
db.transaction(() => {
  const add = (document: BenchDocument) => insert.run(document.category, document.rank, JSON.stringify(document));
  for (let i = 0; i < ITEMS; i++) add(benchDocument(i));
  for (let i = 0; i < WIDE_ITEMS; i++) add(wideDocument(i));
})();

type Insert = {res: Uws.HttpResponse; body: {category: string; rank: number}};
let waiting: Insert[] = [];

function commit(): void {
  const group = waiting;
  waiting = [];
  const ids: (number | bigint)[] = [];
  db.transaction(() => {
    for (const {body} of group) ids.push(insert.run(body.category, body.rank, JSON.stringify(body)).lastInsertRowid);
  })();
  for (const [i, {res}] of group.entries()) answer(res, `{"id":"${ids[i]}"}`, '201 Created');
}

function answer(res: Uws.HttpResponse, body: string, status = '200 OK'): void {
  res.cork(() => {
    res.writeStatus(status).writeHeader('Content-Type', 'application/json').end(body);
  });
}

function withBody(res: Uws.HttpResponse, take: (body: never) => void): void {
  let text = '';
  res.onAborted(() => {});
  res.onData((chunk, isLast) => {
    text += Buffer.from(chunk).toString();
    if (isLast) take(JSON.parse(text) as never);
  });
}

uws
  .App()
  .get('/documents/:id', (res, req) => {
    const body = get.get(Number(req.getParameter(0)));
    if (body === undefined) answer(res, '{"error":"not found"}', '404 Not Found');
    else answer(res, `{"document":${body}}`);
  })
  .post('/documents', res =>
    withBody(res, body => {
      if (waiting.push({res, body}) === 1) setImmediate(commit);
    }),
  )
  .post('/query', res =>
    withBody(res, ({category}: {category: string}) => answer(res, `{"data":[${query.all(category).join(',')}]}`)),
  )
  .listen('127.0.0.1', 0, socket => {
    if (socket === false) throw new Error('cannot listen');
    process.stdout.write(`listening on ${uws.us_socket_local_port(socket)}\n`);
  });
process.once('SIGTERM', () => process.exit(0));
