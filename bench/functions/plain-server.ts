/**
 * What a team would write by hand: an HTTP server of Node and better-sqlite3, a transaction a request, durable before the
 * reply (WAL, synchronous=FULL). POST /transfer {from, to, amount}; POST /fill {accounts}.
 */
import {createServer, type IncomingMessage} from 'node:http';
import Database from 'better-sqlite3';

type Transfer = {from: string; to: string; amount: number};

const db = new Database(process.argv[2]!);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('CREATE TABLE accounts (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID');
const read = db.prepare<[string], string>('SELECT body FROM accounts WHERE id = ?').pluck();
const write = db.prepare<[string, string]>('UPDATE accounts SET body = ? WHERE id = ?');
const insert = db.prepare<[string, string]>('INSERT INTO accounts VALUES (?, ?)');

const transfer = db.transaction(({from, to, amount}: Transfer) => {
  const payer = JSON.parse(read.get(from)!) as {balance: number};
  const payee = JSON.parse(read.get(to)!) as {balance: number};
  write.run(JSON.stringify({...payer, balance: payer.balance - amount}), from);
  write.run(JSON.stringify({...payee, balance: payee.balance + amount}), to);
});
const fill = db.transaction((accounts: number) => {
  for (let number = 0; number < accounts; number++) insert.run(`a${number}`, JSON.stringify({number, balance: 1_000}));
});

const server = createServer((request, response) => {
  bodyOf(request)
    .then(body => {
      if (request.url === '/fill') fill((body as {accounts: number}).accounts);
      else transfer.immediate(body as Transfer);
      response.setHeader('Content-Type', 'application/json');
      response.end('{"status":"success","value":null}');
    })
    .catch((error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`listening on ${typeof address === 'object' ? address?.port : address}\n`);
});
process.once('SIGTERM', () => process.exit(0));

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}
