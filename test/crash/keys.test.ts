/** kill -9 of everything amid changes of keys: what was answered holds, and nothing was done without its record. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {AuditPage, AuditRecord} from '../../shared/protocol/audit.ts';
import type {Key} from '../../shared/protocol/keys.ts';
import {svc} from '../harness/command.ts';
import {Service, STATE} from '../harness/service.ts';
import {until} from '../harness/until.ts';

type Made = {key: Key; secret: string};
/** What is known of a key: `valid`, once that was answered; a change that was asked for last may have been made, or not. */
type Known = {id: string; valid: string | null; ended: string[]; isChanging: boolean};

const ROUNDS = 2;
const CLIENTS = 4;
const ANSWERS = 25;

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('keys made, rotated and revoked are so after kill -9, each with its record, and both logs are whole', async () => {
  const known: Known[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    let answers = 0;
    const clients = Array.from({length: CLIENTS}, async (_, client) => {
      for (let i = 0; ; i++) await changeOne(known, `${round}-${client}-${i}`, i % 3, () => answers++);
    });
    const ends = Promise.allSettled(clients);
    await until('changes to be answered', () => Promise.resolve(answers >= ANSWERS));
    await service.killAll();
    await ends;
    await service.run();
    await checkAll(known);
  }
  for (const log of [[], ['--refused']]) {
    const args = ['audit', 'verify', ...log, '--url', service.url];
    const verified = await svc(args, {SVC_ACCESS_TOKEN: service.accessToken, ...STATE});
    expect(verified).toMatchObject({code: 0, stdout: expect.stringContaining('all is well')});
  }
});

/** Ends with an error once the server is gone. */
async function changeOne(known: Known[], name: string, depth: number, answered: () => void): Promise<void> {
  const {key, secret} = (await answerOf('POST', '/api/keys', {name, scopes: ['logs']})) as Made;
  const one: Known = {id: key.id, valid: secret, ended: [], isChanging: false};
  known.push(one);
  answered();
  if (depth === 0) return;
  one.isChanging = true;
  const rotated = (await answerOf('POST', `/api/keys/${key.id}/rotate`, {overlap_seconds: 0})) as Made;
  one.ended.push(secret);
  one.valid = rotated.secret;
  one.isChanging = false;
  answered();
  if (depth === 1) return;
  one.isChanging = true;
  await answerOf('DELETE', `/api/keys/${key.id}`);
  one.ended.push(rotated.secret);
  one.valid = null;
  one.isChanging = false;
  answered();
}

async function answerOf(method: string, path: string, body?: unknown): Promise<unknown> {
  const {status, body: answer, text} = await service.request(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return answer;
}

async function checkAll(known: readonly Known[]): Promise<void> {
  const statusOf = async (secret: string) =>
    (await service.get('/api/whoami', {authorization: `Bearer ${secret}`})).status;
  for (const {valid, ended, isChanging} of known) {
    for (const secret of ended) expect(await statusOf(secret)).toBe(401);
    if (valid !== null && !isChanging) expect(await statusOf(valid)).toBe(200);
  }
  const {keys, damaged} = (await service.get('/api/keys')).body as {keys: Key[]; damaged: string[]};
  expect(damaged).toEqual([]);
  const records = await recordsOf();
  const done = new Set(
    records.flatMap(record =>
      record.kind === 'intent' ? [`${record.operation} ${Object.values(record.subject)[0]}`] : [],
    ),
  );
  for (const {name} of keys) expect(done).toContain(`keys.create ${name}`);
  for (const {id, valid, ended} of known) {
    if (ended.length > 0) expect(done).toContain(`keys.rotate ${id}`);
    if (valid === null) expect(done).toContain(`keys.revoke ${id}`);
  }
}

async function recordsOf(): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (let after = 0, hasMore = true; hasMore; ) {
    const page = (await service.get(`/api/audit?limit=1000&after=${after}`)).body as AuditPage;
    records.push(...page.records);
    after = page.next_cursor;
    hasMore = page.has_more;
  }
  return records;
}
