/** Clients of one tenant that write and read through any host, and note what they asked and were answered. */
import {setTimeout as delay} from 'node:timers/promises';
import {Agent, request} from 'undici';
import type {DeploymentUpload} from '../../../shared/protocol/functions.ts';
import type {Doc} from '../../harness/tenant.ts';
import type {SvcHost} from '../harness/svc-hosts.ts';
import {SHEETS} from './function-clients.ts';
import {keyOf, type Notes, type Write} from './notes.ts';

const LISTS = 3;
const ACCOUNTS = 3;
const COUNTERS = 2;
const PAGES = 2;
/** A few are sent in parts, and disks fill by them. */
const PAGE_BYTES_MAX = 600_000;
/** Of all accounts together, always. */
export const MONEY = ACCOUNTS * 100;
/** A client waits so long for an answer, then goes on without. */
const PATIENCE_MS = 12_000;
const PAUSE_MS_MAX = 150;
const RETRY_MS = 100;
const JOB_MS_MAX = 4_000;
export const CRON = 'tick';

export type Answer = {status: number; body: unknown; code: string | null};

export class Clients {
  readonly notes: Notes;
  readonly #hosts: readonly SvcHost[];
  readonly #random: () => number;
  readonly #agent = new Agent({connections: 16, pipelining: 1});
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();
  #markers = 0;

  constructor(notes: Notes, hosts: readonly SvcHost[], random: () => number) {
    this.notes = notes;
    this.#hosts = hosts;
    this.#random = random;
  }

  /** Makes the documents that the clients change, and the functions that change some. */
  async prepare(deployment: DeploymentUpload): Promise<void> {
    const insert = (table: string, count: number, fields: object) =>
      Array.from({length: count}, (_, i) => ({type: 'insert', table, id: idOf(table, i), fields}));
    const operations = [
      ...insert('lists', LISTS, {values: []}),
      ...insert('accounts', ACCOUNTS, {balance: MONEY / ACCOUNTS}),
      ...insert('counters', COUNTERS, {count: 0, keys: []}),
      ...insert('pages', PAGES, {text: ''}),
      ...SHEETS.map(id => ({type: 'insert', table: 'sheets', id, fields: {values: []}})),
    ];
    const made = await this.ask(this.#hosts[0]!, 'POST', '/transactions', {operations});
    const cron = {
      name: CRON,
      schedule: {type: 'interval', seconds: 1},
      mutation: {type: 'insert', table: 'ticks', fields: {}},
    };
    const ticks = await this.ask(this.#hosts[0]!, 'POST', '/crons', cron);
    const deployed = await this.ask(this.#hosts[0]!, 'POST', '/deployments', deployment);
    const statuses = [made, ticks, deployed].map(({status}) => status);
    if (statuses.join() !== '200,201,201') throw new Error(`the tenant cannot be prepared: ${statuses}`);
  }

  /** @param count writes and reads that are under way at the same time */
  start(count: number): void {
    this.#running = Promise.all(Array.from({length: count}, () => this.#client()));
  }

  /** Resolves when all answers are there; writes with a key are repeated until they are acknowledged. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** @throws when there is no answer */
  async ask({service}: SvcHost, method: string, path: string, body?: object, key?: string): Promise<Answer> {
    const response = await request(`${service.url}/api/tenants/${this.notes.tenant}${path}`, {
      method: method as 'GET',
      headers: {
        authorization: `Bearer ${service.accessToken}`,
        ...(key === undefined ? {} : {'idempotency-key': key}),
      },
      body: body === undefined ? null : JSON.stringify(body),
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.body.text();
    const found = text === '' ? null : (JSON.parse(text) as {error?: {code: string}});
    return {status: response.statusCode, body: found, code: found?.error?.code ?? null};
  }

  async #client(): Promise<void> {
    const acts = [
      () => this.#append(),
      () => this.#append(),
      () => this.#transfer(),
      () => this.#count(),
      () => this.#fill(),
      () => this.#schedule(),
      () => this.#get('lists', LISTS),
      () => this.#get('counters', COUNTERS),
      () => this.#get('pages', PAGES),
      () => this.#query('lists'),
      () => this.#query('accounts'),
    ];
    while (!this.#isOver) {
      await acts[this.#below(acts.length)]!();
      await delay(this.#random() * PAUSE_MS_MAX);
    }
  }

  #append(): Promise<void> {
    const marker = this.#marker('a');
    const path = `/documents/lists/${idOf('lists', this.#below(LISTS))}`;
    return this.#once(this.notes.begin(marker), 'PATCH', path, {append: {values: [marker]}, patch: {last: marker}});
  }

  #fill(): Promise<void> {
    const marker = this.#marker('p');
    const path = `/documents/pages/${idOf('pages', this.#below(PAGES))}`;
    const text = marker.padEnd(this.#random() ** 6 * PAGE_BYTES_MAX, '.');
    return this.#once(this.notes.begin(marker), 'PATCH', path, {patch: {text, last: marker}});
  }

  #transfer(): Promise<void> {
    const marker = this.#marker('t');
    const from = this.#below(ACCOUNTS);
    const to = (from + 1 + this.#below(ACCOUNTS - 1)) % ACCOUNTS;
    const amount = 1 + this.#below(20);
    const change = (id: number, balance: number) => ({
      ...{type: 'patch', table: 'accounts', id: idOf('accounts', id)},
      ...{increment: {balance}, patch: {last: marker}},
    });
    const operations = [change(from, -amount), change(to, amount)];
    return this.#once(this.notes.begin(marker), 'POST', '/transactions', {operations});
  }

  /** Its effect is an insert with an id of its own, so a second run would be a second document. */
  #schedule(): Promise<void> {
    const marker = this.#marker('j');
    const mutation = {type: 'insert', table: 'jobs', fields: {last: marker}};
    const body = {run_after_ms: this.#below(JOB_MS_MAX), mutation};
    return this.#once(this.notes.begin(marker, true), 'POST', '/schedule', body);
  }

  /** Increments a counter, by any host, until that is acknowledged. */
  async #count(): Promise<void> {
    const marker = this.#marker('c');
    const write = this.notes.begin(marker);
    const path = `/documents/counters/${idOf('counters', this.#below(COUNTERS))}`;
    const body = {increment: {count: 1}, append: {keys: [marker]}, patch: {last: marker}};
    while (!(await this.#attempt(write, 'PATCH', path, body, marker))) await delay(RETRY_MS);
  }

  async #once(write: Write, method: string, path: string, body: object): Promise<void> {
    await this.#attempt(write, method, path, body);
  }

  /** @returns whether it is acknowledged */
  async #attempt(write: Write, method: string, path: string, body: object, key?: string): Promise<boolean> {
    const host = this.#anyHost();
    const answer = await this.ask(host, method, path, body, key).catch((error: Error) => error);
    const text = answer instanceof Error ? `${answer.name} ${answer.message}` : (answer.code ?? String(answer.status));
    write.answers.push(`${host.name} ${text}`);
    if (answer instanceof Error || answer.code === 'session.outcome_unknown') this.notes.end(write, 'unknown');
    else if (answer.status < 300) this.notes.end(write, 'acknowledged');
    else {
      // An earlier attempt with the same key may have been stored.
      if (write.answers.length === 1) this.notes.end(write, 'refused');
      this.#expectRefusal(answer, `${write.marker} on ${host.name}`);
    }
    return write.outcome === 'acknowledged';
  }

  async #get(table: string, count: number): Promise<void> {
    const id = idOf(table, this.#below(count));
    await this.#read('get', 'GET', `/documents/${table}/${id}`, undefined, body => [
      [keyOf(table, id), (body as {document: Doc}).document],
    ]);
  }

  async #query(table: string): Promise<void> {
    await this.#read('query', 'POST', '/query', {table, filters: []}, body =>
      (body as {data: Doc[]}).data.map(document => [keyOf(table, document._id), document]),
    );
  }

  async #read(
    what: string,
    method: string,
    path: string,
    body: object | undefined,
    documentsOf: (body: unknown) => [string, Doc][],
  ): Promise<void> {
    const host = this.#anyHost();
    const beganMs = performance.now();
    const answer = await this.ask(host, method, path, body).catch(() => null);
    if (answer === null) return;
    if (answer.status !== 200) return this.#expectRefusal(answer, `${what} on ${host.name}`);
    const documents = new Map(documentsOf(answer.body));
    this.notes.reads.push({beganMs, endedMs: performance.now(), by: `${what} on ${host.name}`, documents});
  }

  /** A host that fails says so with 503, or 507 when a disk is full. */
  #expectRefusal({status, code, body}: Answer, what: string): void {
    if (status === 503 || status === 507) return;
    this.notes.unexpected.push(
      `${what} at ${Math.round(performance.now())} ms: ${status} ${code} ${JSON.stringify(body)}`,
    );
  }

  #marker(kind: string): string {
    return `${kind}${++this.#markers}`;
  }

  #anyHost(): SvcHost {
    return this.#hosts[this.#below(this.#hosts.length)]!;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }
}

/** Ids are unique in a tenant. */
export function idOf(table: string, number: number): string {
  return `${table}-${number}`;
}
