/**
 * Everything that a tenant's users do, at random, while processes are killed: documents, transactions, functions, jobs, schema changes,
 * imports, bulk tasks. It remembers which inserts were acknowledged.
 */
import {randomUUID} from 'node:crypto';
import {App} from '../functions/app.ts';
import {seededRandom} from '../harness/random.ts';
import type {Reply, Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const FUNCTIONS = {
  'm.ts': `
    import {mutation} from './_generated/server';
    export const add = mutation(async (ctx, {marker}) => {
      await ctx.db.insert('notes', {marker});
      const old = await ctx.db.query('notes').first();
      if (old !== null && marker % 3 === 0) await ctx.db.patch(old._id, {seen: marker});
      return marker;
    });`,
};

const CLIENTS = 4;

type Client = {random: () => number; id: string | null; n: number};

export class MixedLoad {
  readonly tenant: Tenant;
  readonly #app: App;
  readonly #clients: Promise<void>[] = [];
  readonly #random: () => number;
  #isOver = false;
  #markers = 0;
  /** Of inserts that were answered with success, and are not deleted by anyone. */
  readonly acknowledged = new Set<number>();
  /** Refusals that no kill explains. */
  readonly unexpected: string[] = [];
  /** Requests that were answered with success. */
  successes = 0;

  private constructor(app: App, random: () => number) {
    this.#app = app;
    this.tenant = Tenant.of(app.service, app.tenant);
    this.#random = random;
  }

  /** A new tenant with functions. */
  static async begin(service: Service, seed: number): Promise<MixedLoad> {
    const load = new MixedLoad(await App.deploy(service, FUNCTIONS), seededRandom(seed));
    for (let i = 0; i < CLIENTS; i++) load.#clients.push(load.#client());
    return load;
  }

  async #client(): Promise<void> {
    const client: Client = {random: seededRandom(Math.floor(this.#random() * 2 ** 31)), id: null, n: 0};
    while (!this.#isOver) {
      client.n++;
      const reply = await this.#next(client).catch(() => null);
      if (reply === null) await until('the server to answer', () => this.#isOver || this.#answers());
      else if (reply.status < 300) this.successes++;
      else if (reply.status < 500 && ![408, 409, 429].includes(reply.status))
        this.unexpected.push(`${reply.status} ${reply.text.slice(0, 300)}`);
    }
  }

  #next(client: Client): Promise<Reply> {
    const at = client.random();
    if (at < 0.35) return this.#insert({text: 'x'.repeat(Math.floor(client.random() * 800))});
    if (at < 0.55) return this.#change(client);
    if (at < 0.67) return this.#transaction(client);
    if (at < 0.82) return this.#function();
    if (at < 0.88) return this.#job();
    if (at < 0.93) return this.#import(client);
    if (at < 0.96) return this.#schema(client);
    if (at < 0.98) return this.#insert({text: 'y'.repeat(100_000)});
    return this.#send('POST', '/tasks', {type: 'delete', query: {table: 'lines', filters: [LARGE]}});
  }

  #send(method: string, path: string, body: object, key?: string): Promise<Reply> {
    return this.tenant.request(method, path, body, key === undefined ? {} : {'idempotency-key': key});
  }

  async #insert(fields: object): Promise<Reply> {
    const marker = this.#markers++;
    const reply = await this.#send('POST', '/documents', {table: 'docs', fields: {marker, ...fields}}, randomUUID());
    if (reply.status === 201) this.acknowledged.add(marker);
    return reply;
  }

  /** Each client has a document of its own, which it patches and sometimes deletes. */
  async #change(client: Client): Promise<Reply> {
    if (client.id === null) {
      const made = await this.#send('POST', '/documents', {table: 'own', fields: {count: 0}}, randomUUID());
      client.id = made.status === 201 ? (made.body as {id: string}).id : null;
      return made;
    }
    const {id} = client;
    if (client.random() < 0.9) return this.#send('PATCH', `/documents/own/${id}`, {patch: {count: client.n}});
    client.id = null;
    return this.tenant.request('DELETE', `/documents/own/${id}`);
  }

  async #transaction(client: Client): Promise<Reply> {
    const markers = Array.from({length: 1 + Math.floor(client.random() * 5)}, () => this.#markers++);
    const operations = markers.map(marker => ({type: 'insert', table: 'docs', fields: {marker}}));
    const reply = await this.#send('POST', '/transactions', {operations}, randomUUID());
    if (reply.status < 300) for (const marker of markers) this.acknowledged.add(marker);
    return reply;
  }

  #function(): Promise<Reply> {
    return this.#app.svc('POST', '/mutation', {path: 'm:add', args: {marker: this.#markers++}});
  }

  #job(): Promise<Reply> {
    const mutation = {type: 'insert', table: 'jobs', fields: {marker: this.#markers++}};
    return this.#send('POST', '/schedule', {run_after_ms: 0, mutation});
  }

  #import(client: Client): Promise<Reply> {
    const lines = Array.from({length: 1 + Math.floor(client.random() * 60)}, (_, n) =>
      JSON.stringify({n, c: client.n}),
    );
    const sent = {'content-type': 'application/x-ndjson'};
    return this.tenant.request('POST', '/import?table=lines', lines.join('\n'), sent);
  }

  #schema(client: Client): Promise<Reply> {
    const indexes = client.random() < 0.5 ? [] : [{name: 'by_marker', fields: ['marker']}];
    const fields = [{name: 'marker', field_type: 'number', required: true}];
    return this.#send('PUT', '/schema/docs', {table: 'docs', fields, indexes});
  }

  async #answers(): Promise<boolean> {
    return (await this.tenant.service.get('/health').catch(() => null))?.status === 200;
  }

  /** Resolves after this many more successes. */
  async progress(successes: number): Promise<void> {
    const goal = this.successes + successes;
    await until(`${successes} more successful requests`, () => this.successes >= goal);
  }

  /** Resolves when every client has finished its last request, and no job or task is left. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    await until('the jobs to have run', async () => {
      const reply = await this.tenant.request('GET', '/schedule').catch(() => null);
      return reply?.status === 200 && Object.values(reply.body as Record<string, unknown[]>)[0]?.length === 0;
    });
    await until('the tasks to have ended', async () => {
      const reply = await this.tenant.request('GET', '/tasks').catch(() => null);
      const tasks = reply?.status === 200 ? (reply.body as {tasks: {state: string}[]}).tasks : null;
      return tasks?.every(({state}) => state !== 'running');
    });
  }
}

const LARGE = {field: 'n', op: 'gte', value: 40};
