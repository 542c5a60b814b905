/**
 * The cluster process's end of the connection to a worker: it passes on requests that concern the log of the worker's
 * tenant, in the epoch that this host was granted. A worker runs code of its tenant, so everything it sends is checked,
 * and a worker that breaks the rules loses its connection, without which it ends.
 *
 *   listening ──the worker, with the secret──▶ connected ──▶ opened │ superseded │ full
 *       └──────────────────────────────────────────┴── end: nothing is passed on any more
 */
import {createHash, timingSafeEqual} from 'node:crypto';
import {rmSync} from 'node:fs';
import {createServer, type Server, type Socket} from 'node:net';
import {unreachable} from '../../shared/assert.ts';
import {FrameFlag, FrameKind, type FrameWriter, MalformedFrame} from '../../shared/ipc/frame.ts';
import {
  ENDPOINT_MESSAGES_BYTES,
  ENDPOINT_MESSAGES_MAX,
  ENDPOINT_REQUESTS_MAX,
  ENDPOINT_UNREAD_BYTES_MAX,
  MESSAGE_BYTES_LEAST,
} from '../limits.ts';
import {isAck} from '../log/decided-append.ts';
import {EngineError, type LogEngine, type Message, type PublishAnswer, type Subject} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import {type LogPosition, noteBehindHeader, partsInHeader, placeInHeader} from '../log/record.ts';
import {type Subjects, type TenantName, tokenOf} from '../log/subjects.ts';
import type {OpenOptions, OpenOutcome} from '../log/tenant-log.ts';
import {ENDPOINT_VERSION, type LeaseNotice, type LogAnswer} from './endpoint-message.ts';
import {frameSocket} from './frame-socket.ts';
import {type LogRequest, logRequestIn} from './log-request.ts';
import type {LogShare} from './log-share.ts';
import {type EndpointPackages, PackageEndpoint} from './package-endpoint.ts';
import {fromWire} from './wire-position.ts';

export type LogEndpointParts = {
  readonly socketPath: string;
  readonly secret: string;
  readonly tenant: TenantName;
  /** The worker appends in this epoch, and what its file has of earlier ones. */
  readonly epoch: number;
  /** Names this host in the log. */
  readonly note: string;
  readonly engine: LogEngine;
  readonly subjects: Subjects;
  readonly ownerEnds: OpenOptions['ownerEnds'];
  /** What the tenant has in the log. */
  readonly share: LogShare;
  readonly packages: EndpointPackages;
  /** What the log answered to an append, and after how long. */
  readonly onAnswered: (answer: PublishAnswer['kind'], ms: number) => void;
  /** Called before each attempt to append the `open`. @param tail that the worker has read; null: the log has nothing */
  readonly beforeOpen: (tail: LogPosition | null) => Promise<void>;
  /** The log ends before the file of the worker, which ends now. */
  readonly onBehind: () => void;
  /** What became of the opening. */
  readonly onOpened: (outcome: OpenOutcome) => void;
  /** The worker is gone, or broke a rule. */
  readonly onClosed: (why: string) => void;
};

const EMPTY: Buffer = Buffer.alloc(0);

export class LogEndpoint {
  readonly #parts: LogEndpointParts;
  readonly #log: Subject;
  readonly #logParts: Subject;
  readonly #packages: PackageEndpoint;
  readonly #server: Server;
  #socket: Socket | null = null;
  #writer: FrameWriter | null = null;
  #isGreeted = false;
  #isEnded = false;
  #underWay = 0;
  #isAwaitingOwner = false;
  /** One at a time, because each can take `ENDPOINT_MESSAGES_BYTES` of memory. */
  #reading: Promise<unknown> = Promise.resolve();
  readonly #publishing = new Set<Promise<unknown>>();
  /** The newest record that the worker read or appended. */
  #tail: LogPosition | null = null;
  #lease: LeaseNotice | null = null;

  constructor(parts: LogEndpointParts) {
    this.#parts = parts;
    const {subjects, tenant} = parts;
    [this.#log, this.#logParts] = [subjects.log(tenant), subjects.parts(tenant)];
    this.#packages = new PackageEndpoint(parts.packages);
    this.#server = createServer(socket => this.#entered(socket));
    this.#server.maxConnections = 1;
    this.#server.on('error', error => this.#fail(`its socket cannot be made: ${error.message}`));
    this.#server.listen({path: parts.socketPath, writableAll: true, readableAll: true});
  }

  get tail(): LogPosition | null {
    return this.#tail;
  }

  /** The lease of the host, and the space of the log. */
  tell(notice: LeaseNotice): void {
    this.#lease = notice;
    if (this.#isGreeted) this.#send(0, notice);
  }

  /** Resolves when nothing of the worker is under way. The worker is not ended by this. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#packages.end();
    this.#server.close();
    this.#socket?.destroy();
    rmSync(this.#parts.socketPath, {force: true});
    await Promise.allSettled([...this.#publishing]);
  }

  #entered(socket: Socket): void {
    if (this.#isEnded || this.#socket !== null) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    this.#writer = frameSocket(
      socket,
      (kind, stream, _flags, meta, body) => this.#frame(kind, stream, meta, body),
      why => this.#fail(why),
    );
    socket.on('data', () => {
      if (socket.writableLength > ENDPOINT_UNREAD_BYTES_MAX) socket.pause();
    });
    socket.on('drain', () => socket.resume());
    socket.on('close', () => this.#fail('it has closed its connection'));
  }

  #frame(kind: number, stream: number, meta: Buffer, body: Buffer): void {
    if (!this.#isGreeted) {
      if (kind !== FrameKind.hello || !isSame(meta.toString('latin1'), this.#parts.secret)) {
        throw new MalformedFrame('its first frame has another secret');
      }
      if (body.toString('latin1') !== String(ENDPOINT_VERSION)) throw new MalformedFrame('it is of another build');
      this.#isGreeted = true;
      if (this.#lease !== null) this.#send(0, this.#lease);
      return;
    }
    if (kind !== FrameKind.request) throw new MalformedFrame(`a frame of kind ${kind}`);
    const request = logRequestIn(meta.toString());
    if (request === null) throw new MalformedFrame('a request that no worker sends');
    if (++this.#underWay > ENDPOINT_REQUESTS_MAX) throw new MalformedFrame('more requests at once than a worker has');
    void this.#answer(stream, request, Buffer.from(body)).finally(() => this.#underWay--);
  }

  async #answer(stream: number, request: LogRequest, body: Buffer): Promise<void> {
    try {
      const [answer, bytes] = await this.#answered(request, body);
      this.#send(stream, answer, bytes);
    } catch (error) {
      const isOfLog = error instanceof EngineError || error instanceof LogError;
      if (isOfLog) this.#send(stream, {is: 'failed', reason: error.message});
      else if (error instanceof MalformedFrame) this.#fail(error.message);
      else throw error;
    }
  }

  /** @throws MalformedFrame: the worker broke a rule; EngineError */
  async #answered(request: LogRequest, body: Buffer): Promise<[LogAnswer, Buffer?]> {
    const {engine, ownerEnds} = this.#parts;
    switch (request.does) {
      case 'publish':
        return [{is: 'published', answer: await this.#publish(request, body)}];
      case 'next': {
        const message = await engine.next(this.#readable(request.subject), request.sequence);
        return this.#messages(message === null ? [] : [message]);
      }
      case 'last': {
        const message = await engine.last(this.#readable(request.subject));
        return this.#messages(message === null ? [] : [message]);
      }
      case 'messages':
        return this.#messages(await this.#read(request));
      case 'await_owner':
        if (this.#isAwaitingOwner) throw new MalformedFrame('it awaits two owners at once');
        this.#isAwaitingOwner = true;
        try {
          await ownerEnds({openedBy: request.openedBy, tail: fromWire(request.tail)});
        } finally {
          this.#isAwaitingOwner = false;
        }
        return [{is: 'done'}];
      case 'opened': {
        const position = fromWire(request.position);
        const tail = this.#tail;
        const isIt = tail?.kind === 'open' && tail.n === position.n && tail.digest.equals(position.digest);
        if (!isIt || position.epoch !== this.#parts.epoch) throw new MalformedFrame('it opened nothing');
        this.#parts.onOpened({kind: 'opened', position});
        return [{is: 'done'}];
      }
      case 'superseded':
        await this.#checkSuperseded(request.epoch);
        this.#parts.onOpened({kind: 'superseded', epoch: request.epoch});
        return [{is: 'done'}];
      case 'full':
        this.#parts.onOpened({kind: 'full'});
        return [{is: 'done'}];
      case 'behind':
        this.#parts.onBehind();
        this.#parts.onOpened({kind: 'abandoned'});
        return [{is: 'done'}];
      case 'packages':
      case 'store_package':
      case 'drop_packages':
        return await this.#packages.answer(request, body);
      default:
        return unreachable(request);
    }
  }

  async #publish({subject, expected}: Extract<LogRequest, {does: 'publish'}>, body: Buffer): Promise<PublishAnswer> {
    const {engine, epoch, onAnswered, note, beforeOpen, share} = this.#parts;
    if (this.#isEnded) throw new EngineError('the tenant is not of this host any more');
    const [log, parts] = [this.#log, this.#logParts];
    if (body.length > MESSAGE_BYTES_LEAST) throw new MalformedFrame(`a message of ${body.length} bytes`);
    const bytes = body.length + subject.length;
    if (subject === parts.name) {
      if (!share.takesPart(bytes)) return {kind: 'full'};
      const answer = await this.#awaited(engine.publish(parts, body, null));
      if (isAck(answer)) share.storedPart(answer.sequence, bytes);
      return answer;
    }
    if (subject !== log.name || expected === null) throw new MalformedFrame('it publishes to another subject');
    const place = placeInHeader(body, 0);
    if (place === null || place.epoch > epoch) throw new MalformedFrame('it appends no record of its epoch');
    const isOurs = () => place.epoch === epoch && noteBehindHeader(body) === note;
    if (place.kind === 'open' && !isOurs()) throw new MalformedFrame('it opens the log for another owner');
    if (!share.takes(bytes)) return {kind: 'full'};
    // What it lacks by now is appended before: then this append expects another record, is refused, and follows again.
    if (place.kind === 'open') await beforeOpen(this.#tail);
    if (this.#isEnded) throw new EngineError('the tenant is not of this host any more');
    const startMs = performance.now();
    const answer = await this.#awaited(engine.publish(log, body, expected));
    onAnswered(answer.kind, performance.now() - startMs);
    if (isAck(answer)) {
      this.#noteTail({...place, sequence: answer.sequence});
      share.storedRecord(answer.sequence, bytes, partsInHeader(body));
    }
    return answer;
  }

  /** The next claim is above the epoch that the log has. @throws MalformedFrame: it has no such epoch; EngineError */
  async #checkSuperseded(epoch: number): Promise<void> {
    const newest = await this.#parts.engine.last(this.#log);
    const place = newest === null ? null : placeInHeader(newest.bytes, newest.sequence);
    if (place === null || place.epoch < epoch) throw new MalformedFrame('its log has no such epoch');
  }

  async #awaited<T>(publishing: Promise<T>): Promise<T> {
    this.#publishing.add(publishing);
    try {
      return await publishing;
    } finally {
      this.#publishing.delete(publishing);
    }
  }

  #read(request: Extract<LogRequest, {does: 'messages'}>): Promise<Message[]> {
    const read = this.#reading.catch(() => undefined).then(() => this.#readNow(request));
    this.#reading = read;
    return read;
  }

  async #readNow({subject, from, to}: Extract<LogRequest, {does: 'messages'}>): Promise<Message[]> {
    await this.#whenTaken();
    if (this.#isEnded) return [];
    const found: Message[] = [];
    let bytes = 0;
    for await (const message of this.#parts.engine.messages(this.#readable(subject), {from, to})) {
      found.push(message);
      bytes += message.bytes.length;
      if (found.length >= ENDPOINT_MESSAGES_MAX || bytes >= ENDPOINT_MESSAGES_BYTES) break;
    }
    return found;
  }

  /** Requests that were read before have large answers as well. Resolves when the worker has read what it was sent, or is gone. */
  async #whenTaken(): Promise<void> {
    const socket = this.#socket;
    if (socket === null || socket.destroyed || socket.writableLength <= ENDPOINT_UNREAD_BYTES_MAX) return;
    await new Promise<void>(resolve => {
      const done = () => {
        socket.off('drain', done);
        socket.off('close', done);
        resolve();
      };
      socket.on('drain', done);
      socket.on('close', done);
    });
  }

  #messages(messages: Message[]): [LogAnswer, Buffer] {
    const newest = messages.at(-1);
    if (newest?.subject === this.#log.name) this.#noteTail(placeInHeader(newest.bytes, newest.sequence));
    const heads = messages.map(({subject, sequence, bytes}) => ({subject, sequence, bytes: bytes.length}));
    return [{is: 'messages', messages: heads}, Buffer.concat(messages.map(({bytes}) => bytes))];
  }

  #noteTail(place: LogPosition | null): void {
    if (place !== null && (this.#tail === null || place.n > this.#tail.n)) this.#tail = place;
  }

  /** @throws MalformedFrame: it is not of this tenant */
  #readable(name: string): Subject {
    const {subjects, tenant} = this.#parts;
    const token = tokenOf(tenant);
    const list = subjects.record(`base.${token}`);
    for (const subject of [this.#log, this.#logParts, list]) if (subject.name === name) return subject;
    const prefix = `${subjects.prefix({kind: 'bases'})}${token}.`;
    const id = name.slice(prefix.length);
    if (name.startsWith(prefix) && /^[0-9a-f]+$/.test(id)) return subjects.base(tenant, id);
    throw new MalformedFrame('it reads another subject');
  }

  #send(stream: number, message: LogAnswer | LeaseNotice, body: Buffer = EMPTY): void {
    if (this.#isEnded || this.#socket === null || this.#socket.destroyed) return;
    this.#writer?.frame(FrameKind.response, stream, FrameFlag.none, JSON.stringify(message), body, true);
  }

  #fail(why: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#packages.end();
    this.#server.close();
    this.#socket?.destroy();
    this.#parts.onClosed(why);
  }
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
