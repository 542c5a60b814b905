/**
 * A really started service under random writes and random live queries, with the worker killed on the way. What each
 * connection was shown is held against the journal: every snapshot is the naive result at some committed sequence, these
 * sequences never go back on a connection, and the last snapshot is the final state. A query that took long is evaluated
 * on a scan thread, which any query does on a busy machine: its results come when they come, so the last ones are awaited.
 */
import {randomUUID} from 'node:crypto';
import {isDeepStrictEqual} from 'node:util';
import fc from 'fast-check';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import {type Doc, fields, liveShape, naiveLive} from '../harness/naive-query.ts';
import {rounds} from '../harness/nightly.ts';
import {type Reply, Service} from '../harness/service.ts';
import {type Frame, Socket} from '../harness/socket.ts';
import {until} from '../harness/until.ts';

const SOCKETS = 3;
const TABLE = 't';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

type Shown = {query: LiveQueryObject; notBefore: number; frames: Frame[]};
type JournalRecord = {sequence: number; writes: {id: string; document: Doc | null}[]};

/** One connection and all it was shown, in order. */
class Watcher {
  readonly #socket: Socket;
  readonly byRequest = new Map<string, Shown>();
  readonly bySubscription = new Map<number, Shown>();
  readonly order: {shown: Shown; frame: Frame}[] = [];
  readonly ended = new Set<Shown>();

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @param notBefore a sequence that was acknowledged before */
  subscribe(query: LiveQueryObject, notBefore: number): void {
    const requestId = randomUUID();
    this.byRequest.set(requestId, {query, notBefore, frames: []});
    this.#socket.send({type: 'subscribe', request_id: requestId, query});
  }

  unsubscribe(pick: number): void {
    const [id, shown] = [...this.bySubscription][pick % Math.max(1, this.bySubscription.size)] ?? [];
    if (id === undefined || shown === undefined || this.ended.has(shown)) return;
    this.ended.add(shown);
    this.#socket.send({type: 'unsubscribe', subscription_id: id});
  }

  /** Takes in all that was sent up to now. */
  async catchUp(): Promise<void> {
    this.#socket.send({type: 'clear_auth'});
    for (;;) {
      const frame = await this.#socket.next();
      if (frame.type === 'authenticated') return;
      expect(frame.type).toBe('subscription_result');
      const shown =
        frame.request_id === undefined
          ? this.bySubscription.get(frame.subscription_id!)!
          : this.byRequest.get(frame.request_id)!;
      if (frame.request_id !== undefined) {
        expect(shown.frames).toEqual([]);
        this.bySubscription.set(frame.subscription_id!, shown);
      }
      shown.frames.push(frame);
      this.order.push({shown, frame});
    }
  }

  /** Whether each query that is still held shows what it is in this state. */
  shows(documents: readonly Doc[]): boolean {
    return [...this.byRequest.values()].every(shown => {
      const last = shown.frames.at(-1);
      if (last === undefined) return false;
      return this.ended.has(shown) || isDeepStrictEqual(last.data, naiveLive(documents, shown.query));
    });
  }

  close(): void {
    this.#socket.close();
  }
}

/** The tenant's documents after each sequence, in order of creation. */
async function history(tenant: string): Promise<Doc[][]> {
  const states: Doc[][] = [[]];
  for (let after = 0; ; ) {
    const {body} = await service.get(`/api/tenants/${tenant}/journal?after=${after}&limit=1000`);
    const page = body as {records: JournalRecord[]; next_cursor: number; has_more: boolean};
    for (const {sequence, writes} of page.records) {
      expect(sequence).toBe(states.length);
      const documents = new Map(states.at(-1)!.map(document => [document._id, document]));
      for (const {id, document} of writes) {
        if (document === null) documents.delete(id);
        else documents.set(id, document);
      }
      states.push([...documents.values()].sort((a, b) => a._creationTime - b._creationTime));
    }
    if (!page.has_more) return states;
    after = page.next_cursor;
  }
}

/** Each snapshot in turn at the earliest sequence where it may stand. */
function checkShown(watcher: Watcher, states: readonly Doc[][]): void {
  let at = 0;
  for (const {shown, frame} of watcher.order) {
    const isFirst = shown.frames[0] === frame;
    if (isFirst) at = Math.max(at, shown.notBefore);
    const text = JSON.stringify(frame.data);
    const from = at;
    while (at < states.length && JSON.stringify(naiveLive(states[at]!, shown.query)) !== text) at++;
    if (at === states.length) {
      throw new Error(`${JSON.stringify(shown.query)} was never ${text} from sequence ${from} on`);
    }
  }
  for (const shown of watcher.byRequest.values()) {
    const texts = shown.frames.map(({data}) => JSON.stringify(data));
    for (let i = 1; i < texts.length; i++) expect(texts[i]).not.toBe(texts[i - 1]);
  }
}

/** Sends a write until its outcome is known. */
function write(method: string, path: string, body?: object): Promise<Reply> {
  const key = {'idempotency-key': randomUUID()};
  return until(`an answer to ${method} ${path}`, async () => {
    const reply = await service.request(method, path, body, key);
    return reply.status === 503 ? null : reply;
  });
}

const change = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'patch', 'patch', 'delete', 'job'),
  pick: fc.nat(),
  fields,
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
const round = fc.record({
  /** Sent at once. */
  changes: fc.array(change, {minLength: 1, maxLength: 8}),
  subscribe: fc.array(fc.record({socket: fc.nat({max: SOCKETS - 1}), query: liveShape}), {maxLength: 3}),
  unsubscribe: fc.option(fc.record({socket: fc.nat({max: SOCKETS - 1}), pick: fc.nat()}), {freq: 4}),
});

async function perform(tenant: string, {kind, pick, fields: values}: Change, ids: string[]): Promise<void> {
  const base = `/api/tenants/${tenant}`;
  const path = `${base}/documents/${TABLE}/${ids[pick % Math.max(1, ids.length)]}`;
  if (kind === 'job') {
    const mutation = {type: 'insert', table: TABLE, fields: values};
    expect((await write('POST', `${base}/schedule`, {run_after_ms: pick % 30, mutation})).status).toBe(201);
  } else if (kind === 'insert' || ids.length === 0) {
    const {status, body} = await write('POST', `${base}/documents`, {table: TABLE, fields: values});
    expect(status).toBe(201);
    ids.push((body as {id: string}).id);
  } else if (kind === 'patch') expect([200, 404]).toContain((await write('PATCH', path, {patch: values})).status);
  else expect([204, 404]).toContain((await write('DELETE', path)).status);
}

async function latestSequence(tenant: string): Promise<number> {
  const {body} = await write('GET', `/api/tenants/${tenant}/journal?after=0&limit=1`);
  return (body as {latest_sequence: number}).latest_sequence;
}

describe('what a connection is shown', () => {
  test('are results at committed sequences that never go back, ending with the final state', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, {minLength: 8, maxLength: 16}),
        fc.option(fc.nat({max: 7}), {freq: 2}),
        async (rounds, killAt) => {
          const tenant = await service.tenant();
          const watchers = await Promise.all(
            Array.from({length: SOCKETS}, async () => new Watcher(await Socket.established(service, tenant))),
          );
          const ids: string[] = [];
          for (const [i, {changes, subscribe, unsubscribe}] of rounds.entries()) {
            const notBefore = await latestSequence(tenant);
            for (const {socket, query} of subscribe) {
              watchers[socket]!.subscribe({table: TABLE, ...query}, notBefore);
            }
            const performed = changes.map(one => perform(tenant, one, ids));
            if (i === killAt) process.kill(await service.workerOf(tenant), 'SIGKILL');
            await Promise.all(performed);
            if (unsubscribe !== null) {
              const watcher = watchers[unsubscribe.socket]!;
              await watcher.catchUp();
              watcher.unsubscribe(unsubscribe.pick);
            }
          }
          await until('all jobs to have run', async () => {
            const {status, body} = await service.get(`/api/tenants/${tenant}/schedule`);
            return status === 200 && (body as {jobs: unknown[]}).jobs.length === 0;
          });
          const states = await history(tenant);
          for (const watcher of watchers) {
            await until('the final state on every connection', async () => {
              await watcher.catchUp();
              return watcher.shows(states.at(-1)!);
            });
            checkShown(watcher, states);
            watcher.close();
          }
        },
      ),
      {numRuns: rounds({commit: 3, nightly: 24}), endOnFailure: true},
    );
  }, 180_000);
});
