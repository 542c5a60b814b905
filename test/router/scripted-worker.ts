/** A worker's socket whose answers a test writes by hand, and requests whose answers it can read. */
import {Buffer} from 'node:buffer';
import {mkdtempSync, rmSync} from 'node:fs';
import {createServer, type Server, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {CacheName} from '../../router/workers/answer-cache.ts';
import type {Forwarded, Holder, RequestUpload, Suspicion} from '../../router/workers/forwarded.ts';
import type {ServiceError} from '../../shared/errors.ts';
import type {UserCall, WorkerAddress} from '../../shared/ipc/control.ts';
import {FrameFlag, FrameKind, FrameReader, FrameWriter} from '../../shared/ipc/frame.ts';
import type {ResponseMeta} from '../../shared/ipc/operations.ts';

export type Frame = {kind: number; stream: number; flags: number; meta: string; body: string};

export class ScriptedWorker {
  readonly address: WorkerAddress;
  readonly frames: Frame[] = [];
  readonly #directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  #server: Server | null = null;
  /** The last one is that of the router whose requests the test answers. */
  #socket: Socket | null = null;
  readonly #sockets = new Set<Socket>();
  #wanted: {frames: number; resolve: () => void} | null = null;

  constructor(tenant: string, runsCode = true) {
    this.address = {
      tenant,
      worker: this.#directory,
      socketPath: join(this.#directory, 'w'),
      secret: 'secret',
      owner: process.geteuid!(),
      runsCode,
    };
  }

  listen(): Promise<void> {
    this.#server = createServer(socket => {
      this.#socket = socket;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      const reader = new FrameReader((kind, stream, flags, meta, body) => {
        this.frames.push({kind, stream, flags, meta: meta.toString(), body: body.toString()});
        if (this.#wanted !== null && this.frames.length >= this.#wanted.frames) this.#wanted.resolve();
      });
      socket.on('data', chunk => reader.push(chunk as Buffer));
    });
    return new Promise(resolve => this.#server!.listen(this.address.socketPath, resolve));
  }

  /** Resolves once this many frames have come, the hello included. */
  received(frames: number): Promise<void> {
    if (this.frames.length >= frames) return Promise.resolve();
    return new Promise(resolve => {
      this.#wanted = {frames, resolve};
    });
  }

  send(kind: FrameKind, stream: number, flags: number, meta: string, body: string): void {
    const writer = new FrameWriter(bytes => this.#socket!.write(bytes));
    writer.frame(kind, stream, flags, meta, body);
    writer.flush();
  }

  /** As `send`, to the router that connected as this one. @param order from 0 */
  sendTo(order: number, kind: FrameKind, stream: number, flags: number, meta: string, body: string): void {
    const last = this.#socket;
    this.#socket = [...this.#sockets][order]!;
    this.send(kind, stream, flags, meta, body);
    this.#socket = last;
  }

  /** Answers the last request. */
  answer(meta: string, body: string, flags: number = FrameFlag.none): void {
    const request = this.frames.findLast(frame => frame.kind === FrameKind.request)!;
    this.send(FrameKind.response, request.stream, flags, meta, body);
  }

  sendGarbage(): void {
    this.#socket!.write(Buffer.alloc(64, 0xee));
  }

  /** As a killed process: the connection is gone and nobody listens. */
  die(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#socket = null;
    this.#server?.close();
    rmSync(this.#directory, {recursive: true, force: true});
  }
}

type More = {isScan?: boolean; call?: UserCall; bringsCode?: boolean; isEndless?: boolean; cacheAs?: CacheName};

/** What became of a request: `status body`, or `code/Retry-After`. */
export class RecordedRequest implements Forwarded {
  readonly meta = '{"op":"documents.get"}';
  body: Buffer;
  readonly isRead: boolean;
  readonly isShort: boolean;
  readonly call: UserCall | null;
  readonly bringsCode: boolean;
  readonly isEndless: boolean;
  readonly cacheAs: CacheName | null;
  suspectedBy: Suspicion | null = null;
  bytes = 0;
  sentMs = 0;
  isSent = false;
  readonly upload: RequestUpload | null;
  aborted = false;
  holder: Holder | null = null;
  order = 0;
  lostWorker: string | null = null;
  waitingSinceMs = 0;
  readonly chunks: string[] = [];
  readonly outcome: Promise<string>;
  #resolve: (outcome: string) => void = () => undefined;

  /** A read is a short one unless it is said to be a scan; a call is whatever the test says of it. */
  constructor(isRead: boolean, body = '', upload: RequestUpload | null = null, more: More = {}) {
    this.isRead = isRead;
    this.isShort = isRead && more.isScan !== true && more.call === undefined;
    this.call = more.call ?? null;
    this.bringsCode = more.bringsCode === true;
    this.isEndless = more.isEndless === true;
    this.cacheAs = more.cacheAs ?? null;
    this.upload = upload;
    this.body = Buffer.from(body);
    this.outcome = new Promise(resolve => {
      this.#resolve = resolve;
    });
  }

  /** A write's body is let go, as the router does. */
  sent(): void {
    this.isSent = true;
    if (!this.isRead) this.body = Buffer.alloc(0);
  }

  /** Its status, then its pieces. */
  get hasBegun(): boolean {
    return this.chunks.length > 1;
  }

  answer({s: status, ra: retryAfterS = 0}: ResponseMeta, body: Buffer): void {
    this.#resolve(`${status} ${body.toString()}${retryAfterS === 0 ? '' : `/${retryAfterS}`}`);
  }

  startStream(meta: ResponseMeta): void {
    this.chunks.push(String(meta.s));
  }

  streamChunk(chunk: Buffer): void {
    this.chunks.push(chunk.toString());
  }

  endStream(failed: boolean): void {
    this.#resolve(failed ? 'cut' : `streamed ${this.chunks.join(',')}`);
  }

  continues(): boolean {
    return false;
  }

  fail(error: ServiceError, retryAfterS?: number): void {
    this.#resolve(retryAfterS === undefined ? error.code : `${error.code}/${retryAfterS}`);
  }

  abort(): void {
    this.aborted = true;
    this.holder?.abandon(this);
  }
}
