/**
 * The egress client of this thread or process: its connection to the egress process, which looks up names, holds the
 * policy and connects (shared/ipc/egress.ts). It also runs in Node processes of deployments, on the oldest Node version
 * that modules can request.
 *
 *   none ──first question──▶ linking ──▶ linked ──the egress process ends──▶ none
 *
 * While the egress process is being restarted, requests wait for it, up to EGRESS_START_MS_MAX.
 */
import {connect, type Socket} from 'node:net';
import {EgressRefused} from '../../../shared/egress/refused.ts';
import type {
  EgressAnswer,
  EgressEndpoint,
  EgressFailure,
  EgressHello,
  EgressQuestion,
} from '../../../shared/ipc/egress.ts';
import {EGRESS_CLAIM_MS_MAX} from '../../../shared/limits.ts';
import {EGRESS_START_MS_MAX, EGRESS_START_POLL_MS} from '../limits.ts';

/** A connection that waits for its client at `path`. */
export type Opened = {id: number; path: string; address: string; port: number};
type Answered = {resolve(answer: EgressAnswer): void; reject(error: Error): void};
type Carried = {
  /** Breaks it off. */
  destroy: (error?: Error) => void;
  /** The link has reported its end. */
  isEnded: boolean;
  /** Delivers an end that was seen but is not reported yet. */
  end: (() => void) | null;
};
type EgressRequest = {type: 'connect'; host: string; port: number; family: number} | {type: 'lookup'; host: string};

export type EgressClientParts = {
  /** `net.connect`, of a path. */
  connectTo: (path: string) => Socket;
  now: () => number;
};

const SYSTEM: EgressClientParts = {connectTo: path => connect({path}), now: () => performance.now()};

export class EgressClient {
  readonly #endpoint: EgressEndpoint;
  readonly #parts: EgressClientParts;
  readonly #answers = new Map<number, Answered>();
  /** Open connections of this link, by request id. */
  readonly #sockets = new Map<number, Carried>();
  #link: Promise<Socket> | null = null;
  #linked: Socket | null = null;
  #lastId = 0;
  #isClosed = false;

  constructor(endpoint: EgressEndpoint, parts: EgressClientParts = SYSTEM) {
    this.#endpoint = endpoint;
    this.#parts = parts;
  }

  /**
   * Requests a connection. The caller must connect to its path at once and pass the socket to `carries`, or drop it.
   * @throws EgressRefused, or an error as from `net.connect`
   */
  async open(host: string, port: number, family = 0): Promise<Opened> {
    const answer = await this.#ask({type: 'connect', host, port, family});
    if (answer.type !== 'open') throw new Error('the egress process said what it never says');
    return answer;
  }

  /** The addresses of a name that the policy allows. @throws EgressRefused, or an error as from `dns.lookup` */
  async lookup(host: string): Promise<string[]> {
    const answer = await this.#ask({type: 'lookup', host});
    if (answer.type !== 'addresses') throw new Error('the egress process said what it never says');
    return answer.addresses;
  }

  /**
   * Attaches the socket, which is about to be connected to the path, to the connection. Failures of the connection are
   * reported to the socket, and its close to the egress process. Call it again for a TLS socket made over it, which
   * then gets the failures.
   */
  carries({id}: Opened, socket: Socket): void {
    const link = this.#linked;
    const destroyed = socket.destroy.bind(socket);
    const destroy = (error?: Error) => destroyed(error === undefined || !isOfPath(error) ? error : unreached());
    const carried = this.#sockets.get(id) ?? {destroy, isEnded: false, end: null};
    carried.destroy = destroy;
    this.#sockets.set(id, carried);
    // An end is held back until the link confirms it, so that a reader does not mistake a failure for it.
    const push = socket.push.bind(socket);
    socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (chunk !== null || carried.isEnded || !this.#sockets.has(id)) return push(chunk, encoding);
      carried.end = () => void push(null);
      return false;
    };
    // A reset is held back too. The egress process causes one if it ends before it has read all that was sent, and
    // undici treats data before a reset as a complete response if the response has no length.
    socket.destroy = (error?: Error): Socket => {
      if (!isReset(error) || carried.isEnded || !this.#sockets.has(id)) return destroy(error);
      carried.end = () => void destroy(error);
      setTimeout(() => destroy(gone()), EGRESS_CLAIM_MS_MAX).unref(); // in case no report comes
      return socket;
    };
    socket.once('close', () => {
      if (!this.#sockets.delete(id) || link !== this.#linked) return;
      this.#say(link, {type: 'drop', id});
    });
  }

  drop({id}: Opened): void {
    this.#say(this.#linked, {type: 'drop', id});
  }

  /** Closes every connection. */
  close(): void {
    this.#isClosed = true;
    this.#broken(this.#linked, gone());
  }

  async #ask(requested: EgressRequest): Promise<EgressAnswer> {
    this.#link ??= this.#connect();
    const link = await this.#link;
    const id = ++this.#lastId;
    return await new Promise((resolve, reject) => {
      this.#answers.set(id, {resolve, reject});
      // A check for pending work must find some (node/child-sandbox.ts).
      link.ref();
      this.#say(link, {...requested, id} as EgressQuestion);
    });
  }

  #say(link: Socket | null, question: EgressQuestion): void {
    if (link?.writable === true) link.write(`${JSON.stringify(question)}\n`);
    else {
      this.#answers.get(question.id)?.reject(gone());
      this.#answers.delete(question.id);
    }
  }

  async #connect(): Promise<Socket> {
    const lateMs = this.#parts.now() + EGRESS_START_MS_MAX;
    for (;;) {
      const link = await this.#connected();
      if (link !== null && !this.#isClosed) return this.#opened(link);
      if (this.#isClosed || this.#parts.now() > lateMs) {
        link?.destroy();
        this.#link = null;
        throw gone();
      }
      await new Promise(resolve => setTimeout(resolve, EGRESS_START_POLL_MS));
    }
  }

  /** Null: there is no egress process. */
  #connected(): Promise<Socket | null> {
    return new Promise(resolve => {
      const link = this.#parts.connectTo(this.#endpoint.socketPath);
      link.once('connect', () => resolve(link));
      link.once('error', () => resolve(null));
    });
  }

  #opened(link: Socket): Socket {
    this.#linked = link;
    // Without pending requests it does not keep a process alive.
    link.unref();
    link.write(`${JSON.stringify({secret: this.#endpoint.secret} satisfies EgressHello)}\n`);
    let text = '';
    link.setEncoding('utf8');
    link.on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n');
      text = lines.pop()!;
      for (const line of lines) this.#answered(JSON.parse(line) as EgressAnswer);
    });
    link.on('error', () => undefined);
    // On its end and not its close, which comes later: connections that see their end at the same time must know that
    // it is a failure.
    link.on('end', () => this.#broken(link, gone()));
    link.on('close', () => this.#broken(link, gone()));
    return link;
  }

  #answered(answer: EgressAnswer): void {
    const waiting = this.#answers.get(answer.id);
    this.#answers.delete(answer.id);
    if (this.#answers.size === 0) this.#linked?.unref();
    const carried = this.#sockets.get(answer.id);
    if (answer.type === 'broken') {
      carried?.destroy(errorOf(answer.error));
      waiting?.reject(errorOf(answer.error)); // The request had not been answered yet.
    } else if (answer.type === 'ended') ended(carried);
    else if (answer.type === 'failed') waiting?.reject(errorOf(answer.error));
    else waiting?.resolve(answer);
  }

  #broken(link: Socket | null, error: Error): void {
    if (this.#linked !== link) return;
    this.#linked = null;
    this.#link = null;
    link?.destroy();
    const answers = [...this.#answers.values()];
    const carried = [...this.#sockets.values()];
    this.#answers.clear();
    this.#sockets.clear();
    for (const waiting of answers) waiting.reject(error);
    for (const {destroy, isEnded} of carried) if (!isEnded) destroy(error);
  }
}

function ended(carried: Carried | undefined): void {
  if (carried === undefined) return;
  carried.isEnded = true;
  carried.end?.();
}

/** Whether the error is from connecting to the egress process: the system's message names a path of the server. */
function isOfPath(error: NodeJS.ErrnoException): boolean {
  return error.syscall === 'connect' && 'address' in error && !('port' in error);
}

function unreached(): Error {
  const error = new Error('The connection was given up; try again');
  return Object.assign(error, {code: 'ECONNABORTED', syscall: 'connect'});
}

function isReset(error: NodeJS.ErrnoException | undefined): boolean {
  return error?.code === 'ECONNRESET';
}

/** Not a reset: undici treats data before a reset as a complete response if the response has no length. */
function gone(): Error {
  return Object.assign(new Error('The egress process of the server ended; try again'), {
    code: 'ECONNABORTED',
    syscall: 'read',
  });
}

function errorOf({refused, message, code, syscall}: EgressFailure): Error {
  if (refused) return new EgressRefused(message);
  return Object.assign(new Error(message), code === null ? {} : {code}, syscall === null ? {} : {syscall});
}
