/**
 * Clients that hold function sockets of one tenant on any host: each shows a query and calls mutations. A new connection
 * says what all of them have seen, and must get nothing older. It says nothing of writes that others had acknowledged, so
 * its results can be older than those.
 */
import {setTimeout as delay} from 'node:timers/promises';
import type {DeploymentUpload} from '../../../shared/protocol/functions.ts';
import {uploadOf} from '../../functions/app.ts';
import {FunctionSocket} from '../../harness/function-socket.ts';
import type {Doc} from '../../harness/tenant.ts';
import type {SvcHost} from '../harness/svc-hosts.ts';
import {keyOf, type Notes, type Subscription} from './notes.ts';

/** Their documents are not written by the clients of the HTTP API. */
export const SHEETS = ['sheets-0', 'sheets-1'];
const SOCKETS = 2;
const CONNECTION_MS_MAX = 15_000;
const OPEN_MS = 10_000;
const RESULT_MS = 12_000;
const PAUSE_MS_MAX = 400;

const sourceOf = (release: number) => `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const release = ${release};
  export const all = query({args: {}, handler: async ctx => await ctx.db.query('sheets' as never).collect()});
  export const append = mutation({args: {marker: v.string(), n: v.number()}, handler: async (ctx, {marker, n}) => {
    const sheets = await ctx.db.query('sheets' as never).collect() as {_id: string; values: string[]}[];
    const {_id, values} = sheets[n % sheets.length];
    await ctx.db.patch(_id, {values: [...values, marker], last: marker} as never);
  }});`;

/** Two deployments of one app, to take turns. */
export function deployments(): Promise<DeploymentUpload[]> {
  return Promise.all([1, 2].map(release => uploadOf({'sheets.ts': sourceOf(release)})));
}

export class FunctionClients {
  readonly #notes: Notes;
  readonly #hosts: readonly SvcHost[];
  readonly #random: () => number;
  readonly #running: Promise<unknown>;
  readonly #sockets = new Set<FunctionSocket>();
  #isOver = false;
  #timeline: string | null = null;
  #seen = 0;
  #markers = 0;
  #writing = true;
  readonly #calls = new Set<Promise<boolean>>();

  constructor(notes: Notes, hosts: readonly SvcHost[], random: () => number) {
    [this.#notes, this.#hosts, this.#random] = [notes, hosts, random];
    this.#running = Promise.all(Array.from({length: SOCKETS}, () => this.#hold()));
  }

  /** They only show their query from now on. Resolves when all calls are answered, or given up. */
  async stopWriting(): Promise<void> {
    this.#writing = false;
    await Promise.all(this.#calls);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.close();
    await this.#running;
  }

  async #hold(): Promise<void> {
    while (!this.#isOver) {
      const host = this.#hosts[Math.floor(this.#random() * this.#hosts.length)]!;
      await this.#connect(host).catch(() => undefined);
      await delay(PAUSE_MS_MAX);
    }
  }

  async #connect({name, service}: SvcHost): Promise<void> {
    const least = this.#seen;
    const seen = this.#timeline === null ? {} : {seen: {timeline: this.#timeline, ts: least}};
    const opening = FunctionSocket.established(service, this.#notes.tenant, seen);
    const socket = await Promise.race([opening, delay(OPEN_MS, null)]);
    if (socket === null) return void opening.then(late => late.close()).catch(() => undefined);
    this.#sockets.add(socket);
    const hello = await Promise.race([socket.helloOfServer(), delay(OPEN_MS, null)]);
    if (hello === null) return socket.close();
    this.#timeline = hello.session.timeline;
    const subscription: Subscription = {on: name, least, isOpen: true, results: []};
    const by = `function socket ${this.#notes.subscriptions.push(subscription) - 1} on ${name}`;
    const [query] = socket.queries([{path: 'sheets:all'}]) as [number];
    socket.onState = (shown, {ts}) => {
      this.#seen = Math.max(this.#seen, ts);
      const result = shown.get(query);
      socket.messages.length = 0;
      socket.transitions.length = 0;
      if (result === undefined || !('value' in result)) return;
      const documents = new Map((result.value as Doc[]).map(document => [keyOf('sheets', document._id), document]));
      subscription.results.push({beganMs: 0, endedMs: performance.now(), by, documents});
    };
    const end = Promise.race([socket.closed, delay(this.#random() * CONNECTION_MS_MAX)]).then(() => true);
    while (!(await Promise.race([end, delay(this.#random() * PAUSE_MS_MAX, false)]))) {
      if (!this.#writing) continue;
      const call = this.#append(socket, by);
      this.#calls.add(call);
      const isAnswered = await call;
      this.#calls.delete(call);
      if (!isAnswered) break;
    }
    subscription.isOpen = false;
    this.#sockets.delete(socket);
    socket.close();
  }

  /** @returns false: the connection gave no answer */
  async #append(socket: FunctionSocket, by: string): Promise<boolean> {
    const marker = `f${++this.#markers}`;
    const write = this.#notes.begin(marker);
    const args = {marker, n: Math.floor(this.#random() * SHEETS.length)};
    const answer = socket.result(socket.sendMutation('sheets:append', args)).catch((error: Error) => error);
    const result = await Promise.race([answer, delay(RESULT_MS, null)]);
    if (result === null || result instanceof Error) {
      write.answers.push(`${by} ${result === null ? 'nothing' : result.message}`);
      return false;
    }
    write.answers.push(`${by} ${result.ok ? 'ok' : `${result.code} ${result.error}`}`);
    if (result.ok) {
      this.#notes.end(write, 'acknowledged');
      if ('ts' in result) this.#seen = Math.max(this.#seen, result.ts);
    } else if (result.code !== undefined && result.code !== 'session.outcome_unknown')
      this.#notes.end(write, 'refused');
    return true;
  }
}
