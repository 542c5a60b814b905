/**
 * An action pool with real threads and isolates over a tenant file that holds one deployment. Handlers are given as text, as
 * the bundler would have written them; the main thread's part is played by the test.
 */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {openWriter} from '../../../engine/storage/database.ts';
import {digestOf} from '../../../engine/storage/file-digest.ts';
import {ActionLines} from '../../../worker/runtime/actions/action-lines.ts';
import {type ActionAnswers, answersOf} from '../../../worker/runtime/actions/action-link.ts';
import type {ActionRequest, MainOperation} from '../../../worker/runtime/actions/action-message.ts';
import {ActionPool, type ActionPoolOptions} from '../../../worker/runtime/actions/action-pool.ts';
import {HttpExchange, type HttpIncoming, type HttpOutgoing} from '../../../worker/runtime/actions/http-exchange.ts';
import type {Outcome} from '../../../worker/runtime/execution.ts';
import type {HttpRequestHead} from '../../../worker/runtime/guest/actions/http-action.ts';
import {ProcessMemory} from '../../../worker/runtime/process-memory.ts';
import {TestEgress} from '../../harness/egress.ts';

const THREAD = fileURLToPath(new URL('../../../dist/action.thread.js', import.meta.url));

export type Called = {operation: MainOperation; parameters: string};
export type HttpResult = {outcome: Outcome; status: number | null; headers: [string, string][]; chunks: string[]};

export class ActionHost {
  readonly #directory = mkdtempSync(join(tmpdir(), 'svc-actions-'));
  readonly #options: Partial<ActionPoolOptions>;
  pool!: ActionPool;
  readonly network = new TestEgress();
  /** Leads to the public internet alone. */
  readonly closed = this.network.endpoint({allow: [], deny: []});
  /** What the process takes, as the pool sees it. */
  bytesNow: () => number = () => 0;
  /** What actions asked of the main thread. */
  calls: Called[] = [];
  lines = new ActionLines();
  /** What the main thread answers. */
  answer: (called: Called) => Promise<string> | string = () => '+null';

  /** @param modules path without extension → source */
  constructor(modules: Record<string, string>, options: Partial<ActionPoolOptions> = {}) {
    this.#options = options;
    const databasePath = join(this.#directory, 'tenant.sqlite');
    const db = openWriter(databasePath);
    const files = Object.entries(modules).map(([module, source]) => {
      db.prepare('INSERT INTO code (sha256, source) VALUES (?, ?)').run(digestOf(source, ''), source);
      return {path: `${module}.js`, sha256: digestOf(source, '')};
    });
    db.prepare(
      `INSERT INTO deployments (id, created_at, activated_at, manifest, files, modified_ms, seed, hash)
       VALUES (1, 0, 0, '{}', ?, 0, ?, ?)`,
    ).run(JSON.stringify(files), SEED, digestOf(JSON.stringify(files)));
    db.close();
    this.pool = new ActionPool({
      databasePath,
      thread: THREAD,
      memory: new ProcessMemory(() => this.bytesNow()),
      ...this.#options,
    });
  }

  async close(): Promise<void> {
    await this.pool.close();
    await this.network.close();
    rmSync(this.#directory, {recursive: true});
  }

  run(name: string, args: object = {}, request: Partial<ActionRequest> = {}, signal?: AbortSignal): Promise<Outcome> {
    return this.pool.run(
      {...REQUEST, egress: this.closed, module: 'app', name, kind: 'action', args: JSON.stringify(args), ...request},
      this.#answers(null),
      signal,
    );
  }

  /** The value an action returned. @throws the message it failed with */
  async value(name: string, args: object = {}, request: Partial<ActionRequest> = {}): Promise<unknown> {
    const outcome = await this.run(name, args, request);
    if (!outcome.ok) throw new Error(outcome.error.message);
    return JSON.parse(outcome.value);
  }

  async failure(name: string, args: object = {}, request: Partial<ActionRequest> = {}): Promise<string> {
    const outcome = await this.run(name, args, request);
    if (outcome.ok) throw new Error(`it succeeded: ${outcome.value}`);
    return outcome.error.message;
  }

  /** @param route index. @param onChunk called with each piece of the response before it is taken */
  async http(
    route: number,
    head: Partial<HttpRequestHead> = {},
    incoming: HttpIncoming | null = null,
    onChunk: (chunk: string) => Promise<void> | void = () => undefined,
  ): Promise<HttpResult> {
    const result: Omit<HttpResult, 'outcome'> = {status: null, headers: [], chunks: []};
    const whole: HttpRequestHead = {
      method: incoming === null ? 'GET' : 'POST',
      url: 'https://app.example/x?y=1',
      headers: [],
      hasBody: incoming !== null,
      ...head,
    };
    const outgoing: HttpOutgoing = {
      start: (status, headers) => void Object.assign(result, {status, headers}),
      write: async bytes => {
        const chunk = new TextDecoder().decode(bytes);
        result.chunks.push(chunk);
        await onChunk(chunk);
      },
    };
    const outcome = await this.pool.run(
      {
        ...REQUEST,
        egress: this.closed,
        module: 'http',
        name: String(route),
        kind: 'httpAction',
        args: JSON.stringify(whole),
      },
      this.#answers(new HttpExchange(incoming, outgoing, this.lines)),
    );
    return {outcome, ...result};
  }

  #answers(exchange: HttpExchange | null): ActionAnswers {
    const call = async (operation: MainOperation, parameters: string) => {
      this.calls.push({operation, parameters});
      return this.answer({operation, parameters});
    };
    return answersOf({lines: this.lines, call}, exchange);
  }
}

const SEED = '0123456789abcdef0123456789abcdef';
const REQUEST = {
  deployment: {id: 1, timestampMs: 0, seed: SEED},
  requestId: '0123456789abcdef',
  caller: {identity: null},
  env: {},
} satisfies Partial<ActionRequest>;
