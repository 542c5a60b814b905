/**
 * A proxy in front of an S3-compatible server that fails as real ones do, switched while it runs. What a store does to objects that it
 * has acknowledged happens to the files of s3rver, so every reader sees it, also one that goes around the proxy.
 */
import {randomInt} from 'node:crypto';
import {existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {createServer, type IncomingMessage, request, type Server, type ServerResponse} from 'node:http';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {seededRandom} from './random.ts';
import type {S3} from './s3.ts';
import {until} from './until.ts';

/**
 * - `slow`: each answer waits so long; `hangs`: none comes; `gone`: connections are refused
 * - `fails`: each answer has this status; `full`: PUTs do, as of a store without space
 * - `truncates`, `forgets`, `flips`: PUTs are acknowledged, and the object is short, not there, or differs in a bit
 * - `stale_lists`: lists do not have what was put since
 */
export type Fault =
  | {kind: 'none'}
  | {kind: 'slow'; ms: number}
  | {kind: 'hangs' | 'gone' | 'full' | 'truncates' | 'forgets' | 'flips' | 'stale_lists'}
  | {kind: 'fails'; status: number};

type Options = {
  behind: Pick<S3, 'endpoint' | 'directory'>;
  seed?: number;
  /** Of requests that a fault concerns; 1 unless told. */
  share?: number;
};

export class FaultyStore {
  readonly seed: number;
  readonly #options: Options;
  readonly #random: () => number;
  readonly #share: number;
  readonly #hanging = new Set<ServerResponse>();
  #server: Server | null = null;
  #port = 0;
  #fault: Fault = {kind: 'none'};
  /** Paths of the objects put since the fault began. */
  #putSince = new Set<string>();
  /** Acknowledged, and not stored as they were sent. */
  readonly spoiled: string[] = [];
  /** Requests so far, by method, faulty or not. */
  readonly requests = new Map<string, number>();

  private constructor(options: Options) {
    this.#options = options;
    this.seed = options.seed ?? randomInt(2 ** 31);
    this.#share = options.share ?? 1;
    this.#random = seededRandom(this.seed);
  }

  static async start(options: Options): Promise<FaultyStore> {
    const store = new FaultyStore(options);
    await store.#listen(0);
    return store;
  }

  /** For the `endpoint` of a repository's URL. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  count(method: string): number {
    return this.requests.get(method) ?? 0;
  }

  /** From now on. Requests that a fault before keeps waiting break. */
  async set(fault: Fault): Promise<void> {
    const wasGone = this.#fault.kind === 'gone';
    this.#fault = fault;
    this.#putSince = new Set();
    for (const response of this.#hanging) response.destroy();
    this.#hanging.clear();
    if (fault.kind === 'gone' && !wasGone) await this.#close();
    if (fault.kind !== 'gone' && wasGone) await this.#listen(this.#port);
  }

  async stop(): Promise<void> {
    await this.set({kind: 'none'});
    await this.#close();
  }

  #serve(): Server {
    return createServer((incoming, response) => {
      this.#answer(incoming, response).catch(() => response.destroy()); // the client or s3rver went away
    });
  }

  async #listen(port: number): Promise<void> {
    const server = this.#serve();
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as {port: number}).port;
  }

  async #close(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    const closed = new Promise(resolve => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = incoming.method ?? 'GET';
    this.requests.set(method, this.count(method) + 1);
    const fault = this.#random() < this.#share ? this.#fault : ({kind: 'none'} as const);
    const isPut = method === 'PUT' || method === 'POST';
    switch (fault.kind) {
      case 'hangs':
        this.#hanging.add(response);
        return;
      case 'slow':
        await delay(fault.ms);
        break;
      case 'fails':
        return refuse(incoming, response, fault.status, 'InternalError');
      case 'full':
        if (isPut) return refuse(incoming, response, 507, 'QuotaExceeded');
    }
    const {status, headers, body} = await this.#pass(incoming);
    const path = decodeURIComponent(new URL(incoming.url ?? '/', this.endpoint).pathname);
    const isStored = isPut && status < 300 && existsSync(this.#fileOf(path));
    if (isStored && fault.kind !== 'none') await this.#written(path, incoming);
    if (isStored) this.#putSince.add(path);
    if (isStored) this.#spoil(path, fault);
    const sent = fault.kind === 'stale_lists' && method === 'GET' ? this.#withoutNew(path, body) : body;
    response.writeHead(status, {
      ...headers,
      'content-length': method === 'HEAD' ? headers['content-length'] : sent.length,
    });
    response.end(sent);
  }

  #pass(incoming: IncomingMessage): Promise<{status: number; headers: IncomingMessage['headers']; body: Buffer}> {
    return new Promise((resolve, reject) => {
      const {method, url, headers} = incoming;
      const passed = request(this.#options.behind.endpoint + url, {method, headers}, answer => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const {'transfer-encoding': _, connection: __, ...rest} = answer.headers;
          resolve({status: answer.statusCode!, headers: rest, body: Buffer.concat(chunks)});
        });
      });
      passed.on('error', reject);
      incoming.on('error', reject);
      incoming.pipe(passed);
    });
  }

  /** Where s3rver has the bytes of the object at `/bucket/key`. */
  #fileOf(path: string): string {
    return join(this.#options.behind.directory, `${path}._S3rver_object`);
  }

  /** s3rver can acknowledge an object before its file has the bytes. */
  async #written(path: string, {method, headers}: IncomingMessage): Promise<void> {
    if (method !== 'PUT') return;
    const sent = Number(headers['x-amz-decoded-content-length'] ?? headers['content-length'] ?? 0);
    await until(`${path} to be written`, () => statSync(this.#fileOf(path)).size >= sent);
  }

  #spoil(path: string, {kind}: Fault): void {
    if (kind === 'truncates') this.truncate(path);
    if (kind === 'forgets') this.forget(path);
    if (kind === 'flips') this.flip(path);
  }

  /** @param path `/bucket/key` */
  truncate(path: string): void {
    const file = this.#fileOf(path);
    truncateSync(file, Math.floor(statSync(file).size / 2));
    this.spoiled.push(path);
  }

  /** @param path `/bucket/key` */
  forget(path: string): void {
    rmSync(this.#fileOf(path));
    this.spoiled.push(path);
  }

  /** @param path `/bucket/key` */
  flip(path: string): void {
    const file = this.#fileOf(path);
    const bytes = readFileSync(file);
    if (bytes.length === 0) return;
    const at = Math.floor(this.#random() * bytes.length);
    bytes[at]! ^= 1 << Math.floor(this.#random() * 8);
    writeFileSync(file, bytes);
    this.spoiled.push(path);
  }

  /** Changes the first byte, which is content. @param path `/bucket/key` */
  flipFirst(path: string): void {
    const file = this.#fileOf(path);
    const bytes = readFileSync(file);
    bytes[0]! ^= 1;
    writeFileSync(file, bytes);
  }

  #withoutNew(path: string, body: Buffer): Buffer {
    const text = body.toString('utf8');
    if (!text.includes('<ListBucketResult')) return body;
    const bucket = path.split('/')[1]!;
    return Buffer.from(
      text.replace(/<Contents>.*?<\/Contents>/gs, entry => {
        const key = /<Key>(.*?)<\/Key>/s.exec(entry)?.[1] ?? '';
        return this.#putSince.has(`/${bucket}/${key}`) ? '' : entry;
      }),
    );
  }
}

function refuse(incoming: IncomingMessage, response: ServerResponse, status: number, code: string): void {
  incoming.resume();
  response.writeHead(status, {'content-type': 'application/xml'});
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}
