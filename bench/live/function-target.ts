/** Function sockets of one tenant: how they are opened, what they watch, and mutations that change it. */
import {randomUUID} from 'node:crypto';
import {setTimeout as delay} from 'node:timers/promises';
import {Pool} from 'undici';
import type {QueryChange} from '../../shared/protocol/function-socket/client-message.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import {deployApp, runFunction} from '../functions/app.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import {LoadSocket} from './socket.ts';
import {FRAME_BYTES, type LiveTarget} from './target.ts';

export type Watched = {path: string; args: object};

/** Runs of held queries, by whether the result was new. */
export type LiveRuns = {changed: number; equal: number};

/** A tenant whose documents have the ranks 0, 1, 2 and so on. */
export class FunctionTenant {
  readonly tenant: string;
  readonly #svc: SvcPeer;
  /** Functions are called without a token. */
  readonly #pool: Pool;
  /** By rank. */
  readonly #ids: readonly string[];

  private constructor(svc: SvcPeer, tenant: string, ids: readonly string[]) {
    this.#svc = svc;
    this.#pool = new Pool(svc.url, {connections: 1});
    this.tenant = tenant;
    this.#ids = ids;
  }

  /** @param root where the app is built */
  static async create(svc: SvcPeer, tenant: string, root: string, documents: number): Promise<FunctionTenant> {
    await svc.client.createTenant(tenant);
    await deployApp(svc, tenant, root);
    const ids: string[] = [];
    const text = 'x'.repeat(FRAME_BYTES / 10 - 110);
    for (let from = 0; from < documents; from += FILL_AT_ONCE) {
      const to = Math.min(from + FILL_AT_ONCE, documents);
      ids.push(...((await runFunction(svc, tenant, 'live:fill', {from, to, text})) as string[]));
    }
    return new FunctionTenant(svc, tenant, ids);
  }

  get url(): string {
    return `${this.#svc.url}/svc/${this.tenant}`;
  }

  /** Changes the document of a rank; resolves when that is acknowledged. */
  async change(rank: number, n: number): Promise<void> {
    const args = {id: this.#ids[rank], change: n};
    const reply = await this.#pool.request({
      method: 'POST',
      path: `/svc/${this.tenant}/mutation`,
      body: JSON.stringify({path: 'live:change', args}),
    });
    const {status, errorMessage} = (await reply.body.json()) as {status: string; errorMessage?: string};
    if (status !== 'success') throw new Error(errorMessage);
  }

  async open(): Promise<LoadSocket> {
    const socket = await LoadSocket.open(this.#svc.port, `/svc/${this.tenant}/ws`, {
      'sec-websocket-protocol': FUNCTION_PROTOCOL,
    });
    const hello = {type: 'client_hello', protocol: FUNCTION_PROTOCOL, client_id: randomUUID(), connection_count: 0};
    socket.send(JSON.stringify(hello));
    return socket;
  }

  /** Resolves with the first results. */
  async subscribe(socket: LoadSocket, watched: readonly Watched[]): Promise<void> {
    const changes = watched.map(({path, args}, i): QueryChange => ({type: 'add', query_id: i, path, args}));
    // `hello` may come in one piece with it, so frames are looked at as they come.
    const shown = new Promise<void>((resolve, reject) => {
      socket.onText(frame => {
        if (!frame.includes('"type":"transition"')) return;
        socket.onText(() => undefined);
        if (frame.includes('"error":')) reject(new Error(`a live query failed: ${frame.toString()}`));
        else resolve();
      });
    });
    socket.send(JSON.stringify({type: 'query_set', base_version: 0, new_version: 1, changes}));
    await shown;
  }

  async subscriber(watched: readonly Watched[]): Promise<LoadSocket> {
    const socket = await this.open();
    await this.subscribe(socket, watched);
    return socket;
  }

  /** The first ten documents, to all; a change is to one of them. */
  target(): LiveTarget {
    return {
      subscriber: () => this.subscriber([{path: 'live:firstTen', args: {}}]),
      change: n => this.change(n % 10, n),
      close: () => this.close(),
      pid: this.#svc.process.pid,
    };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** So far, of all tenants of the service, once those under way have ended. */
  async liveRuns(): Promise<LiveRuns> {
    let runs = await this.#liveRuns();
    for (;;) {
      await delay(RUNS_SETTLE_MS);
      const later = await this.#liveRuns();
      if (later.changed === runs.changed && later.equal === runs.equal) return runs;
      runs = later;
    }
  }

  async #liveRuns(): Promise<LiveRuns> {
    const text = (await this.#svc.client.request('GET', '/metrics')).body.toString();
    const of = (result: string): number => {
      const line = new RegExp(`^svc_function_live_runs_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(text);
      if (line === null) throw new Error(`/metrics does not count live runs with result="${result}"`);
      return Number(line[1]);
    };
    return {changed: of('changed'), equal: of('equal')};
  }
}

const FILL_AT_ONCE = 1_000;
/** A run that goes on for longer is not counted. */
const RUNS_SETTLE_MS = 250;
