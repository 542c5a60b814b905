/**
 * Clients that write without pause and remember what became of each write, so that a test can hold the stored state against
 * every answer that was given, whatever was killed meanwhile.
 */
import {randomUUID} from 'node:crypto';
import {expect} from 'vitest';
import {bootstrap, canonical, checkChain, journalAfter, replay} from './journal.ts';
import type {Doc, Tenant} from './tenant.ts';
import {until} from './until.ts';

export const LOAD_TABLE = 'load';

export class WriteLoad {
  readonly #tenant: Tenant;
  readonly #clients: Promise<void>[];
  #isOver = false;
  #next = 0;
  /** Answered 201. */
  readonly acknowledged = new Set<number>();
  /** No answer, or one that says that the outcome is unknown. */
  readonly unknown = new Set<number>();
  /** Answers that promise that nothing was written: code → markers. */
  readonly refused = new Map<string, Set<number>>();

  /** @param clients every other one carries an Idempotency-Key and repeats each write until it succeeds */
  constructor(tenant: Tenant, clients = 16) {
    this.#tenant = tenant;
    this.#clients = Array.from({length: clients}, (_, i) => this.#client(i % 2 === 0));
  }

  async #client(retries: boolean): Promise<void> {
    while (!this.#isOver) {
      const marker = this.#next++;
      const key = retries ? randomUUID() : undefined;
      let isDone = await this.#write(marker, key);
      while (retries && !isDone && !this.#isOver) isDone = await this.#write(marker, key);
    }
  }

  /** @returns whether it is acknowledged */
  async #write(marker: number, key: string | undefined): Promise<boolean> {
    const body = {table: LOAD_TABLE, fields: {marker, text: 'x'.repeat(marker % 500)}};
    const reply = await this.#tenant.request('POST', '/documents', body, {'idempotency-key': key}).catch(() => null);
    if (reply?.status === 201) {
      this.acknowledged.add(marker);
      this.unknown.delete(marker);
      return true;
    }
    const code = reply === null ? null : (reply.body as {error: {code: string}}).error.code;
    if (code === null || code === 'session.outcome_unknown') this.unknown.add(marker);
    else this.refused.set(code, (this.refused.get(code) ?? new Set()).add(marker));
    if (reply === null) await until('the server to answer', () => this.#isOver || this.#answers());
    return false;
  }

  async #answers(): Promise<boolean> {
    return (await this.#tenant.service.get('/health').catch(() => null))?.status === 200;
  }

  /** Resolves after this many more acknowledged writes. */
  async progress(writes: number): Promise<void> {
    const goal = this.acknowledged.size + writes;
    await until(`${writes} more acknowledged writes`, () => this.acknowledged.size >= goal);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  /**
   * Every acknowledged write is there exactly once, one of unknown outcome at most once, a refused one not at all; the
   * journal's chain is whole, and snapshot and journal say what the documents say.
   */
  async expectKept(): Promise<void> {
    const documents = await this.#tenant.list(LOAD_TABLE);
    const stored = documents.map(doc => doc.marker as number);
    const found = new Set(stored);
    expect(found.size).toBe(stored.length);
    expect([...this.acknowledged].filter(marker => !found.has(marker))).toEqual([]);
    expect(stored.filter(marker => !this.acknowledged.has(marker) && !this.unknown.has(marker))).toEqual([]);
    await expectSound(this.#tenant, documents);
  }
}

/** The whole journal's chain holds, and both it and the snapshot give these documents of the load's table. */
async function expectSound(tenant: Tenant, documents: Doc[]): Promise<void> {
  const {records, texts} = await journalAfter(tenant, 0);
  expect(records.map(record => record.sequence)).toEqual(records.map((_, i) => i + 1));
  checkChain(texts);
  const empty = {snapshot: {documents: {}}} as never;
  for (const state of [replay(empty, records), replay(await bootstrap(tenant), [])]) {
    expect((state.get(LOAD_TABLE) ?? []).map(canonical)).toEqual(documents.map(canonical));
  }
}
