/**
 * Patches and deletes among inserts, each with its answer remembered, while workers or all processes are killed: what was
 * acknowledged has happened exactly once, what was refused has not, and only what was left unanswered may be either.
 */
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {CRASHES_BEFORE_COOL_DOWN} from '../../supervisor/limits.ts';
import {svc} from '../harness/command.ts';
import {bootstrap, canonical, checkChain, journalAfter, replay} from '../harness/journal.ts';
import {firstOf} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {type Reply, Service} from '../harness/service.ts';
import {type Doc, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

/** `unknown`: no answer came, or one that says it is unknown. */
type Outcome = 'acknowledged' | 'unknown' | 'refused';

const CLIENTS = 16;

class MixedLoad {
  readonly #tenant: Tenant;
  readonly #outcomes = new Map<string, Outcome>();
  /** Of each client's own document: the last count that was acknowledged, and the last one sent. */
  readonly #counters: {id: string | null; acknowledged: number; sent: number}[] = [];
  readonly #deleted = new Map<string, Outcome>();
  #clients: Promise<void>[] = [];
  #isOver = false;
  #acknowledged = 0;
  /** Clients wait here after a request that nobody answered. */
  #up = Promise.resolve();
  #setUp: () => void = () => undefined;

  constructor(tenant: Tenant) {
    this.#tenant = tenant;
  }

  /** Writes acknowledged so far. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  start(): void {
    this.#clients = Array.from({length: CLIENTS}, (_, client) => this.#client(client));
  }

  /** The service is about to go: clients it does not answer wait until it is said to be back. */
  goesDown(): void {
    this.#up = new Promise(resolve => {
      this.#setUp = resolve;
    });
  }

  isBack(): void {
    this.#setUp();
  }

  /** Resolves when every client has finished its last write. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #client(client: number): Promise<void> {
    const counter = {id: null as string | null, acknowledged: 0, sent: 0};
    this.#counters.push(counter);
    for (let n = 0; !this.#isOver; n++) {
      const marker = `${client}-${n}`;
      if (counter.id === null) {
        counter.id = await this.#insertSurely('counters', {marker, count: 0});
      } else if (n % 4 === 0) {
        await this.#insertSurely('sure', {marker});
      } else if (n % 4 === 1) {
        this.#outcomes.set(marker, (await this.#send('POST', '/documents', {table: 'once', fields: {marker}})).outcome);
      } else if (n % 4 === 2) {
        counter.sent = n;
        const {outcome} = await this.#send('PATCH', `/documents/counters/${counter.id}`, {patch: {count: n}});
        if (outcome === 'acknowledged') counter.acknowledged = n;
      } else {
        const id = await this.#insertSurely('deleted', {marker});
        this.#deleted.set(marker, (await this.#send('DELETE', `/documents/deleted/${id}`)).outcome);
      }
    }
  }

  /** Sends it with one Idempotency-Key again and again until it is acknowledged. */
  async #insertSurely(table: string, fields: {marker: string; count?: number}): Promise<string> {
    const key = `${table}-${fields.marker}`;
    for (;;) {
      const {reply} = await this.#send('POST', '/documents', {table, fields}, key);
      if (reply?.status === 201) {
        if (table === 'sure') this.#outcomes.set(fields.marker, 'acknowledged');
        return (reply.body as {id: string}).id;
      }
    }
  }

  async #send(
    method: string,
    path: string,
    body?: object,
    key?: string,
  ): Promise<{outcome: Outcome; reply: Reply | null}> {
    const headers = key === undefined ? {} : {'idempotency-key': key};
    const reply = await this.#tenant.request(method, path, body, headers).catch(() => null);
    if (reply === null) {
      await this.#up;
      return {outcome: 'unknown', reply};
    }
    if (reply.status < 300) {
      this.#acknowledged++;
      return {outcome: 'acknowledged', reply};
    }
    // Nothing else may go wrong with a write that is in order.
    expect(reply.text).toMatch(/"code":"session\.(outcome_unknown|worker_unavailable|overloaded|storage_full)"/);
    return {outcome: reply.text.includes('outcome_unknown') ? 'unknown' : 'refused', reply};
  }

  /** To be called when the load has stopped. */
  async check(): Promise<void> {
    await this.#checkMarkers();
    await this.#checkCounters();
    await this.#checkJournal();
  }

  async #checkMarkers(): Promise<void> {
    const stored = [...(await this.#walk('once')), ...(await this.#walk('sure'))].map(doc => String(doc.marker));
    expect(new Set(stored).size).toBe(stored.length);
    const there = new Set(stored);
    const wrong = [...this.#outcomes].filter(([marker, outcome]) =>
      outcome === 'acknowledged' ? !there.has(marker) : outcome === 'refused' && there.has(marker),
    );
    expect(wrong).toEqual([]);
    const kept = new Set((await this.#walk('deleted')).map(doc => String(doc.marker)));
    const wronglyDeleted = [...this.#deleted].filter(([marker, outcome]) =>
      outcome === 'acknowledged' ? kept.has(marker) : outcome === 'refused' && !kept.has(marker),
    );
    expect(wronglyDeleted).toEqual([]);
  }

  async #checkCounters(): Promise<void> {
    const counts = new Map((await this.#walk('counters')).map(doc => [doc._id, Number(doc.count)]));
    expect(counts.size).toBe(this.#counters.filter(({id}) => id !== null).length);
    for (const {id, acknowledged, sent} of this.#counters) {
      if (id === null) continue;
      expect(counts.get(id)).toBeGreaterThanOrEqual(acknowledged);
      expect(counts.get(id)).toBeLessThanOrEqual(sent);
    }
  }

  /** The chain holds from the first record on, and the journal replayed is what lists and bootstrap show. */
  async #checkJournal(): Promise<void> {
    const {records, texts} = await journalAfter(this.#tenant, 0);
    expect(records.findIndex(({sequence}, i) => sequence !== i + 1)).toBe(-1);
    checkChain(texts);
    const empty = {snapshot: {documents: {}}} as never;
    const fromJournal = replay(empty, records);
    const fromBootstrap = replay(await bootstrap(this.#tenant), []);
    for (const table of ['once', 'sure', 'counters', 'deleted']) {
      const listed = canonical(await this.#walk(table));
      expect(canonical(fromJournal.get(table) ?? []) === listed).toBe(true);
      expect(canonical(fromBootstrap.get(table) ?? []) === listed).toBe(true);
    }
  }

  async #walk(table: string): Promise<Doc[]> {
    const found: Doc[] = [];
    for (let after: string | null = null; ; ) {
      const cursor: {after?: string} = after === null ? {} : {after};
      const page = await this.#tenant.page({query: {table, filters: []}, page_size: 1000, ...cursor});
      found.push(...page.data);
      if (page.next_cursor === null) return found;
      after = page.next_cursor;
    }
  }
}

let service: Service;
beforeEach(async () => {
  service = await Service.start();
  service.showLogOnFailure();
});
afterEach(() => service.stop());

async function expectSoundFiles(): Promise<void> {
  expect(await svc(['verify', '--data', service.data])).toMatchObject({code: 0});
}

describe('every acknowledged insert, patch and delete of 16 clients a tenant has happened exactly once', () => {
  /** Writes that are acknowledged before each kill, so that it falls into different moments of the pipeline. */
  const WORKER_ROUNDS = firstOf(2, [40, 7, 111, 3, 64, 23]);
  const TREE_ROUNDS = firstOf(1, [30, 90, 5]);

  test(`when its worker is killed, ${WORKER_ROUNDS.length} times`, async () => {
    // Two tenants in turn: one that dies too often is rested.
    const sides: {tenant: Tenant; load: MixedLoad}[] = [];
    for (const tenant of [await Tenant.make(service), await Tenant.make(service)]) {
      const load = new MixedLoad(tenant);
      load.start();
      sides.push({tenant, load});
    }
    expect(WORKER_ROUNDS.length / sides.length).toBeLessThan(CRASHES_BEFORE_COOL_DOWN);
    for (const [round, writes] of WORKER_ROUNDS.entries()) {
      const {tenant, load} = sides[round % sides.length]!;
      const soFar = load.acknowledged;
      await until('acknowledged writes', () => load.acknowledged >= soFar + writes);
      const worker = await service.workerOf(tenant.id);
      process.kill(worker, 'SIGKILL');
      await until('its end', () => !isAlive(worker));
    }
    for (const {load} of sides) {
      const soFar = load.acknowledged;
      await until('writes after the last death', () => load.acknowledged > soFar + 50);
      await load.stop();
      await load.check();
    }
    await expectSoundFiles();
  });

  test(`when all processes are killed and the service is started again, ${TREE_ROUNDS.length} times`, async () => {
    const loads: MixedLoad[] = [];
    for (const tenant of [await Tenant.make(service), await Tenant.make(service)]) {
      const load = new MixedLoad(tenant);
      load.start();
      loads.push(load);
    }
    for (const writes of TREE_ROUNDS) {
      const before = loads.map(load => load.acknowledged);
      await until('acknowledged writes', () => loads.every((load, i) => load.acknowledged >= before[i]! + writes));
      for (const load of loads) load.goesDown();
      await service.killAll();
      await service.run();
      for (const load of loads) load.isBack();
    }
    for (const load of loads) {
      const soFar = load.acknowledged;
      await until('writes after the last start', () => load.acknowledged > soFar + 50);
      await load.stop();
      await load.check();
    }
    await expectSoundFiles();
  });
});
