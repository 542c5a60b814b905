/** One tenant under every kind of work. Each kind leaves the tenant as it found it, and checks every answer. */
import {setTimeout as delay} from 'node:timers/promises';
import {isDeepStrictEqual} from 'node:util';
import {tenantPath} from '../../cli/client.ts';
import {SvcClient, SvcHttpClient} from '../../sdk/browser/index.ts';
import {createClient, type NativeClient} from '../../sdk/native/index.ts';
import {makeFunctionReference} from '../../sdk/server/index.ts';
import type {DeploymentUpload} from '../../shared/protocol/functions.ts';
import type {SvcPeer} from '../peers/svc/start.ts';

type Note = {n: number; text: string};
type Tables = {notes: Note; lines: Note};

const TEXT = 'x'.repeat(200);
const LINES = 300;
const POLL_MS = 100;
const PATIENCE_MS = 60_000;
const IN_BUNDLE = /soak-version-\d+/g;

const query = (name: string) => makeFunctionReference<'query'>(name);
const mutation = (name: string) => makeFunctionReference<'mutation'>(name);
const ROUND = makeFunctionReference<'action'>('marks:round');

export class SoakTenant {
  readonly #svc: SvcPeer;
  readonly #tenant: string;
  readonly #upload: DeploymentUpload;
  readonly #db: NativeClient<Tables>;
  readonly #functions: SvcHttpClient;
  #last = 0;
  #deployed = 0;

  constructor(svc: SvcPeer, tenant: string, upload: DeploymentUpload) {
    this.#svc = svc;
    this.#tenant = tenant;
    this.#upload = upload;
    this.#db = createClient<Tables>({url: svc.url, tenant, key: svc.token});
    this.#functions = new SvcHttpClient(`${svc.url}/svc/${tenant}`);
  }

  async open(): Promise<void> {
    await this.#svc.client.createTenant(this.#tenant);
    await this.deploys();
  }

  async documents(): Promise<void> {
    const n = this.#next();
    const id = await this.#db.insert('notes', {n, text: TEXT});
    same((await this.#db.get('notes', id))?.n, n);
    await this.#db.patch('notes', id, {patch: {text: 'short'}});
    const found = await this.#db.query('notes', {filters: [{field: 'n', op: 'eq', value: n}]});
    same(
      found.map(({text}) => text),
      ['short'],
    );
    await this.#db.delete('notes', id);
    same(await this.#db.get('notes', id), null);
  }

  async transactions(): Promise<void> {
    const n = this.#next();
    const results = await this.#db.transaction(transaction => {
      for (let i = 0; i < 10; i++) transaction.insert('notes', {n, text: TEXT});
    });
    same(await this.#db.count('notes', {filters: [{field: 'n', op: 'eq', value: n}]}), 10);
    await this.#db.transaction(transaction => {
      for (const {id} of results) transaction.delete('notes', id!);
    });
    same(await this.#db.count('notes', {filters: [{field: 'n', op: 'eq', value: n}]}), 0);
  }

  async functions(): Promise<void> {
    const n = this.#next();
    const id = await this.#functions.mutation(mutation('marks:add'), {group: `f${n}`, n});
    same(await this.#functions.query(query('marks:ofGroup'), {group: `f${n}`}), [n]);
    same(await this.#functions.mutation(mutation('marks:raise'), {id, by: 1}), n + 1);
    for (let i = 0; i < 3; i++) same(await this.#functions.query(query('marks:ofGroup'), {group: `f${n}`}), [n + 1]);
    await this.#functions.mutation(mutation('marks:remove'), {id});
    same(await this.#functions.query(query('marks:ofGroup'), {group: `f${n}`}), []);
  }

  async actions(): Promise<void> {
    const n = this.#next();
    same(await this.#functions.action(ROUND, {group: `a${n}`, n}), n);
    const body = `${TEXT}${n}`;
    const response = await fetch(`${this.#svc.url}/svc/${this.#tenant}/http/echo`, {method: 'POST', body});
    same(await response.text(), body);
  }

  async jobs(): Promise<void> {
    const n = this.#next();
    const id = `job-${n}`;
    const work = {type: 'insert', table: 'notes', fields: {n, text: TEXT}, id};
    const {job_id} = await this.#admin<{job_id: string}>('POST', ['schedule'], {run_after_ms: 0, mutation: work});
    await until('a job', async () => (await this.#db.get('notes', id))?.n === n);
    const {result} = await this.#admin<{result: {outcome: string}}>('GET', ['schedule', 'history', job_id]);
    same(result.outcome, 'completed');
    await this.#db.delete('notes', id);
    const group = `j${n}`;
    await this.#functions.mutation(mutation('marks:addLater'), {group, n});
    await until('a scheduled function', async () =>
      isDeepStrictEqual(await this.#functions.query(query('marks:ofGroup'), {group}), [n]),
    );
    same(await this.#functions.mutation(mutation('marks:clear'), {group}), 1);
  }

  async crons(): Promise<void> {
    const n = this.#next();
    const name = `cron-${n}`;
    const work = {type: 'insert', table: 'notes', fields: {n, text: TEXT}, id: name};
    await this.#admin('POST', ['crons'], {name, schedule: {type: 'interval', seconds: 3_600}, mutation: work});
    const {run} = await this.#admin<{run: {outcome: string}}>('POST', ['crons', name, 'run']);
    same(run.outcome, 'completed');
    await this.#admin('DELETE', ['crons', name]);
    await this.#db.delete('notes', name);
  }

  /** An import, an export of it and a task that deletes it. */
  async imports(): Promise<void> {
    const lines = Array.from({length: LINES}, (_, n) => JSON.stringify({n, text: TEXT})).join('\n');
    const headers = {'content-type': 'application/x-ndjson'};
    const path = tenantPath(this.#tenant, 'import');
    const {body} = await this.#svc.client.request('POST', `${path}?table=lines`, lines, headers);
    same((JSON.parse(body.toString()) as {inserted: number}).inserted, LINES);
    const exported = await this.#svc.client.request('GET', `${tenantPath(this.#tenant, 'export')}?table=lines`);
    same(exported.body.toString().trim().split('\n').length, LINES);
    const filters = [{field: 'n', op: 'gte', value: 0}];
    const {id} = await this.#admin<{id: string}>('POST', ['tasks'], {type: 'delete', query: {table: 'lines', filters}});
    await until('a task', async () => (await this.#task(id)).state !== 'running');
    same((await this.#task(id)).changed, LINES);
    same(await this.#db.count('lines'), 0);
  }

  /** Also what `open` does: the functions answer as the newest code says. */
  async deploys(): Promise<void> {
    const version = `soak-version-${++this.#deployed}`;
    const files = this.#upload.files.map(file => ({...file, source: file.source.replaceAll(IN_BUNDLE, version)}));
    await this.#admin('POST', ['deployments'], {...this.#upload, files});
    same(await this.#functions.query(query('version:version'), {}), version);
    same(await this.#functions.query(query('version:entry'), {n: 7}), 'entry 7');
    same(await this.#functions.mutation(mutation('marks:clear'), {group: version}), 0);
  }

  async variables(): Promise<void> {
    const value = `value ${this.#next()}`;
    await this.#admin('PUT', ['env', 'SOAK'], {value});
    same(await this.#functions.query(query('version:variable'), {}), value);
  }

  async live(): Promise<void> {
    const n = this.#next();
    const shown = new Shown();
    const asked = {filters: [{field: 'n', op: 'eq', value: n}]} as const;
    const end = this.#db.live('notes', asked, documents => shown.take(documents.length), {
      onError: error => shown.fail(error),
    });
    try {
      await shown.is(0);
      const id = await this.#db.insert('notes', {n, text: TEXT});
      await shown.is(1);
      await this.#db.delete('notes', id);
      await shown.is(0);
    } finally {
      end();
    }
  }

  async liveFunctions(): Promise<void> {
    const n = this.#next();
    const group = `l${n}`;
    const shown = new Shown();
    const client = new SvcClient(`${this.#svc.url}/svc/${this.#tenant}`);
    try {
      client.onUpdate(
        query('marks:ofGroup'),
        {group},
        marks => shown.take((marks as number[]).length),
        error => shown.fail(error),
      );
      await shown.is(0);
      await client.mutation(mutation('marks:add'), {group, n});
      await shown.is(1);
      same(await client.mutation(mutation('marks:clear'), {group}), 1);
      await shown.is(0);
    } finally {
      await client.close();
    }
  }

  /** A stream of the journal, which shows a document that is made after it is open. */
  async streams(): Promise<void> {
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(PATIENCE_MS)]);
    const path = `${tenantPath(this.#tenant, 'journal', 'stream')}?after=latest&table=notes`;
    const headers = {authorization: `Bearer ${this.#svc.token}`};
    const response = await fetch(this.#svc.url + path, {headers, signal});
    same(response.status, 200);
    const decoder = new TextDecoder();
    let text = '';
    let id: string | null = null;
    try {
      for await (const chunk of response.body!) {
        text += decoder.decode(chunk as Uint8Array, {stream: true});
        if (id === null && text.includes('event: open')) id = await this.#db.insert('notes', {n: 0, text: TEXT});
        if (id !== null && text.includes(id)) break;
      }
    } finally {
      ending.abort();
    }
    if (id === null) throw new Error('the stream of the journal did not open');
    await this.#db.delete('notes', id);
  }

  async keys(): Promise<void> {
    const asked = {
      name: `soak-${this.#tenant}-${this.#next()}`,
      scopes: ['data:read'],
      tenants: [this.#tenant],
      expires_in_seconds: 600,
    };
    const made = await this.#svc.client.json<{key: {id: string}; secret: string}>('POST', '/api/keys', asked);
    const statusWithKey = async () => {
      const headers = {authorization: `Bearer ${made.secret}`};
      const response = await fetch(this.#svc.url + tenantPath(this.#tenant, 'tables'), {headers});
      await response.arrayBuffer();
      return response.status;
    };
    same(await statusWithKey(), 200);
    await this.#svc.client.json('DELETE', `/api/keys/${made.key.id}`);
    same(await statusWithKey(), 401);
  }

  /** For the names of this run: nothing is made with one of them twice. */
  #next(): number {
    return ++this.#last;
  }

  #admin<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string[], body?: unknown): Promise<T> {
    return this.#svc.client.json<T>(method, tenantPath(this.#tenant, ...path), body);
  }

  async #task(id: string): Promise<{state: string; changed: number}> {
    return (await this.#admin<{task: {state: string; changed: number}}>('GET', ['tasks', id])).task;
  }
}

/** The length of a live result. */
class Shown {
  #length = -1;
  #error: unknown = null;

  take(length: number): void {
    this.#length = length;
  }

  fail(error: unknown): void {
    this.#error = error;
  }

  async is(length: number): Promise<void> {
    await until(`a live result of ${length}`, () => {
      if (this.#error !== null) throw this.#error;
      return this.#length === length;
    });
  }
}

async function until(what: string, isThere: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (!(await isThere())) {
    if (performance.now() > endMs) throw new Error(`${what} did not come in ${PATIENCE_MS / 1_000} s`);
    await delay(POLL_MS);
  }
}

function same(found: unknown, expected: unknown): void {
  if (isDeepStrictEqual(found, expected)) return;
  throw new Error(`WRONG ANSWER: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}
