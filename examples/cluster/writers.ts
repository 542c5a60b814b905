/**
 * Writes to a few tenants, one document each second, at any host that runs. A write without an answer is sent again to
 * another host with the same `Idempotency-Key`, so it is stored once. What was acknowledged is counted here and compared
 * with what is stored.
 */
import {randomUUID} from 'node:crypto';
import {setTimeout as delay} from 'node:timers/promises';
import type {Host} from './local-cluster.ts';

const TENANTS = 6;
const PAUSE_MS = 1_000;
const RETRY_MS = 200;
const ANSWER_MS = 15_000;

export type WriterState = {
  tenant: string;
  acknowledged: number;
  /** Acknowledged documents that were not there when they were counted last; null: not counted yet. */
  lost: number | null;
  /** How long the write under way has waited; 0: none does. */
  waiting_ms: number;
  longest_ms: number;
};

/** `sinceMs`: when the write under way began; null: there is none. */
type Writing = WriterState & {sinceMs: number | null};

export class Writers {
  readonly #hosts: readonly Host[];
  readonly #end = new AbortController();
  readonly #states: Writing[];
  #running: Promise<unknown> = Promise.resolve();

  constructor(hosts: readonly Host[]) {
    this.#hosts = hosts;
    this.#states = Array.from({length: TENANTS}, (_, i) => ({
      ...{tenant: `demo-${i + 1}`, acknowledged: 0, lost: null, waiting_ms: 0, longest_ms: 0, sinceMs: null},
    }));
  }

  start(): void {
    this.#running = Promise.all(this.#states.map(state => this.#write(state)));
  }

  get states(): WriterState[] {
    return this.#states.map(({sinceMs, ...state}) => ({
      ...state,
      waiting_ms: sinceMs === null ? 0 : Math.round(performance.now() - sinceMs),
    }));
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #write(state: Writing): Promise<void> {
    const path = `/api/tenants/${state.tenant}`;
    // One that is there from an earlier run stays.
    await this.#sent('POST', '/api/tenants', {id: state.tenant}, [201, 409]);
    const before = (await this.#count(path)) ?? 0;
    while (!this.#end.signal.aborted) {
      state.sinceMs = performance.now();
      await this.#sent('POST', `${path}/documents`, {table: 'writes', fields: {n: state.acknowledged}}, [201]);
      if (this.#end.signal.aborted) return;
      state.longest_ms = Math.max(state.longest_ms, Math.round(performance.now() - state.sinceMs));
      state.sinceMs = null;
      state.acknowledged++;
      const stored = await this.#count(path);
      if (stored !== null) state.lost = Math.max(0, before + state.acknowledged - stored);
      await this.#pause(PAUSE_MS);
    }
  }

  async #count(path: string): Promise<number | null> {
    const answer = (await this.#sent('GET', `${path}/tables`, undefined, [200])) as {
      tables?: {name: string; documents: number}[];
    } | null;
    return answer === null ? null : (answer.tables?.find(({name}) => name === 'writes')?.documents ?? 0);
  }

  /** Until a host answers with one of these statuses; null: it was aborted. */
  async #sent(method: string, path: string, body: unknown, statuses: readonly number[]): Promise<unknown> {
    const key = randomUUID();
    for (let i = Math.floor(Math.random() * this.#hosts.length); !this.#end.signal.aborted; i++) {
      const {member, url, token} = this.#hosts[i % this.#hosts.length]!;
      if (member.pid !== null) {
        try {
          const response = await fetch(url + path, {
            method,
            headers: {
              authorization: `Bearer ${token}`,
              'content-type': 'application/json',
              ...(method === 'POST' ? {'idempotency-key': key} : {}),
            },
            ...(body === undefined ? {} : {body: JSON.stringify(body)}),
            signal: AbortSignal.any([this.#end.signal, AbortSignal.timeout(ANSWER_MS)]),
          });
          const answer: unknown = await response.json();
          if (statuses.includes(response.status)) return answer;
        } catch {
          // The host was killed, or does not answer: the next one is asked.
        }
      }
      await this.#pause(RETRY_MS);
    }
    return null;
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, {signal: this.#end.signal}).catch(() => undefined);
  }
}
