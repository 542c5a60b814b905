/** Sessions as the supervisor keeps them: when they end, who sees them, what a restart and a damaged file leave. */
import {hash} from 'node:crypto';
import {mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterEach, beforeEach, expect, onTestFinished, test} from 'vitest';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import {type Holder, type OpenedSession, sessionIdIn} from '../../shared/ipc/sessions.ts';
import type {DashboardSessionList} from '../../shared/protocol/dashboard.ts';
import {Sessions} from '../../supervisor/keys/sessions.ts';
import {
  DASHBOARD_CODE_MS,
  SESSION_IDLE_MS,
  SESSION_LIFE_MS,
  SESSIONS_OF_CREDENTIAL_MAX,
} from '../../supervisor/limits.ts';

let folder: string;
let path: string;
let nowMs: number;
/** When secrets of keys end, by their digests. */
let keyEnds: Record<string, number>;
let told: SupervisorToRouter[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-sessions-'));
  path = join(folder, 'sessions.sqlite');
  nowMs = 1_000_000;
  keyEnds = {first: Number.POSITIVE_INFINITY, second: nowMs + 5_000};
  told = [];
});
afterEach(() => rmSync(folder, {recursive: true}));

const KEY: Holder = {key: 'k', sha256: 'first'};

function open(adminSha256 = 'admin'): Sessions {
  const sessions = new Sessions({
    ...{path, adminSha256, now: () => nowMs, log: {error: () => undefined, warn: () => undefined} as never},
    keys: {nameOf: id => `name of ${id}`, endOf: (_, sha256) => keyEnds[sha256] ?? 0},
    tellRouters: message => {
      told.push(message);
      return Promise.resolve();
    },
  });
  onTestFinished(() => sessions.close());
  return sessions;
}

async function start(sessions: Sessions, holder: Holder = null): Promise<OpenedSession> {
  const request = {action: 'session_open', holder, address: '127.0.0.1', browser: 'a browser'} as const;
  return (await sessions.perform(request)) as OpenedSession;
}
const idsOf = (sessions: Sessions) => sessions.records().map(({id}) => id);
const take = (sessions: Sessions, code: string) => sessions.perform({action: 'code_take', code});
const unauthorized = expect.objectContaining({code: 'auth.unauthorized'});

test('a session is stored as a digest, and a restart keeps it', async () => {
  const sessions = open();
  const {id, secret, ends_at} = await start(sessions);
  expect(ends_at).toBe(nowMs + SESSION_LIFE_MS);
  expect(Buffer.from(secret.slice(id.length + 1), 'base64url')).toHaveLength(32);
  expect(sessionIdIn(secret)).toBe(id);
  sessions.close();
  const again = open();
  expect(again.records()).toEqual([expect.objectContaining({id, key: null, sha256: hash('sha256', secret)})]);
  expect(JSON.stringify(again.records())).not.toContain(secret.slice(id.length + 1));
});

test('it ends when it is idle, also over a restart, and at its absolute end', async () => {
  const sessions = open();
  const [idle, used] = [await start(sessions), await start(sessions)];
  nowMs += SESSION_IDLE_MS - 1;
  sessions.used([used.id, 'a key']);
  nowMs += 1;
  await sessions.sweep();
  expect(idsOf(sessions)).toEqual([used.id]);
  expect(told.at(-1)).toEqual({type: 'session_removed', session: idle.id});
  sessions.close();
  nowMs += SESSION_IDLE_MS - 2;
  const restarted = open();
  expect(idsOf(restarted)).toEqual([used.id]);
  restarted.close();
  nowMs += 1;
  const last = open();
  expect(idsOf(last)).toEqual([]);
  const one = await start(last);
  for (let ms = 0; ms < SESSION_LIFE_MS; ms += SESSION_IDLE_MS / 2) {
    nowMs += SESSION_IDLE_MS / 2;
    last.used([one.id]);
  }
  await last.sweep();
  expect(idsOf(last)).toEqual([]);
});

test('it ends with the secret of the key that opened it, or when an admin credential changes', async () => {
  const sessions = open();
  const ofAdmin = await start(sessions);
  const ofFirst = await start(sessions, KEY);
  const ofSecond = await start(sessions, {key: 'k', sha256: 'second'});
  expect(ofSecond.ends_at).toBe(nowMs + 5_000);
  keyEnds.first = 0;
  await sessions.sweep();
  expect(idsOf(sessions).sort()).toEqual([ofAdmin.id, ofSecond.id].sort());
  expect(idsOf(sessions)).not.toContain(ofFirst.id);
  await expect(start(sessions, KEY)).rejects.toEqual(unauthorized);
  sessions.close();
  expect(idsOf(open('another admin credential'))).toEqual([ofSecond.id]);
});

test('a key sees and ends its own; an admin credential sees all, and signs out its own everywhere', async () => {
  const sessions = open();
  const ofAdmin = await start(sessions);
  const ofKey = await start(sessions, KEY);
  const list = async (actor: string | null) =>
    ((await sessions.perform({action: 'session_list', actor})) as DashboardSessionList).sessions;
  expect((await list('k')).map(({id, key_name}) => [id, key_name])).toEqual([[ofKey.id, 'name of k']]);
  expect((await list(null)).map(({id}) => id).sort()).toEqual([ofAdmin.id, ofKey.id].sort());
  const end = (actor: string | null, session: string | null) =>
    sessions.perform({action: 'session_end', actor, session});
  await expect(end('k', ofAdmin.id)).rejects.toEqual(expect.objectContaining({code: 'op.not_found'}));
  await end(null, null);
  expect(idsOf(sessions)).toEqual([ofKey.id]);
  await end(null, ofKey.id);
  expect(idsOf(sessions)).toEqual([]);
});

test('one more than a credential may have ends the one that was not used for the longest time', async () => {
  const sessions = open();
  const other = await start(sessions, KEY);
  const made: string[] = [];
  for (let i = 0; i < SESSIONS_OF_CREDENTIAL_MAX; i++) {
    nowMs += 1;
    made.push((await start(sessions)).id);
  }
  nowMs += 1;
  sessions.used([made[0]!]);
  const last = await start(sessions);
  expect(idsOf(sessions).sort()).toEqual([other.id, ...made.filter((_, i) => i !== 1), last.id].sort());
});

test('a code is taken once, within a minute, and stands for the credential that made it', async () => {
  const sessions = open();
  const code = async () => ((await sessions.perform({action: 'code_make', holder: KEY})) as {code: string}).code;
  const [one, late] = [await code(), await code()];
  expect(await take(sessions, one)).toEqual({holder: KEY});
  await expect(take(sessions, one)).rejects.toEqual(unauthorized);
  nowMs += DASHBOARD_CODE_MS;
  await expect(take(sessions, late)).rejects.toEqual(unauthorized);
});

test('a damaged row is no session, and a damaged file is moved aside', async () => {
  const sessions = open();
  const [damaged, whole] = [await start(sessions), await start(sessions)];
  sessions.close();
  const db = new Database(path);
  db.prepare("UPDATE keys SET record = replace(record, '127', '128') WHERE id = ?").run(damaged.id);
  db.close();
  const again = open();
  expect(idsOf(again)).toEqual([whole.id]);
  again.close();
  writeFileSync(path, 'no database at all, whatever it was');
  const empty = open();
  expect(idsOf(empty)).toEqual([]);
  expect(readdirSync(folder).filter(name => /^sessions\.sqlite\..*Z$/.test(name))).toHaveLength(1);
});
