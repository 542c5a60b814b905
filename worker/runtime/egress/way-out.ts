/**
 * The way out of this thread or process: its link to the egress process, which looks up names, holds the policy and connects
 * (shared/ipc/egress.ts). It runs in Node processes of deployments too, on the oldest Node that modules may ask for.
 *
 *   none ──first question──▶ linking ──▶ linked ──the egress process ends──▶ none
 *
 * Where there is no egress process, because it is being started again, a question waits for it, within EGRESS_START_MS_MAX.
 */
import {connect, type Socket} from 'node:net';
import {EgressRefused} from '../../../shared/egress/refused.ts';
import type {EgressAnswer, EgressDoor, EgressFailure, EgressHello, EgressQuestion} from '../../../shared/ipc/egress.ts';
import {EGRESS_CLAIM_MS_MAX} from '../../../shared/limits.ts';
import {EGRESS_START_LOOK_MS, EGRESS_START_MS_MAX} from '../limits.ts';

/** A connection that waits for its client at `path`. */
export type Opened = {id: number; path: string; address: string; port: number};
type Answered = {resolve(answer: EgressAnswer): void; reject(error: Error): void};
type Carried = {
  /** Breaks it off. */
  destroy: (error?: Error) => void;
  /** The link has said that it ended. */
  isEnded: boolean;
  /** Its end was seen, and is not told yet. */
  end: (() => void) | null;
};
type Asked = {type: 'connect'; host: string; port: number; family: number} | {type: 'lookup'; host: string};

export type WayOutParts = {
  /** `net.connect`, of a path. */
  connectTo: (path: string) => Socket;
  now: () => number;
};

const SYSTEM: WayOutParts = {connectTo: path => connect({path}), now: () => performance.now()};

export class WayOut {
  readonly #door: EgressDoor;
  readonly #parts: WayOutParts;
  readonly #answers = new Map<number, Answered>();
  /** Open connections of this link, by what they were asked for under. */
  readonly #sockets = new Map<number, Carried>();
  #link: Promise<Socket> | null = null;
  #linked: Socket | null = null;
  #lastId = 0;
  #isClosed = false;

  constructor(door: EgressDoor, parts: WayOutParts = SYSTEM) {
    this.#door = door;
    this.#parts = parts;
  }

  /**
   * Asks for a connection. Whoever gets it connects to its path at once, and hands the socket to `carries`, or drops it.
   * @throws EgressRefused, or an error as of `net.connect`
   */
  async open(host: string, port: number, family = 0): Promise<Opened> {
    const answer = await this.#ask({type: 'connect', host, port, family});
    if (answer.type !== 'open') throw new Error('the egress process said what it never says');
    return answer;
  }

  /** The addresses of a name that may be connected to. @throws EgressRefused, or an error as of `dns.lookup` */
  async lookup(host: string): Promise<string[]> {
    const answer = await this.#ask({type: 'lookup', host});
    if (answer.type !== 'addresses') throw new Error('the egress process said what it never says');
    return answer.addresses;
  }

  /**
   * This socket, which is about to be connected to the path, is the connection: what breaks off is told to it, and its close to the egress process. Once more for one of TLS
   * that is made over it: that is then what is told.
   */
  carries({id}: Opened, socket: Socket): void {
    const link = this.#linked;
    const destroyed = socket.destroy.bind(socket);
    const destroy = (error?: Error) => destroyed(error === undefined || !isOfPath(error) ? error : unreached());
    const carried = this.#sockets.get(id) ?? {destroy, isEnded: false, end: null};
    carried.destroy = destroy;
    this.#sockets.set(id, carried);
    // Before whoever reads it takes it for an end, an end waits for the link's word that it is one.
    const push = socket.push.bind(socket);
    socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (chunk !== null || carried.isEnded || !this.#sockets.has(id)) return push(chunk, encoding);
      carried.end = () => void push(null);
      return false;
    };
    // So does a reset, which the death of the egress process is when it had not read all that was sent: undici takes what came before
    // one for all of an answer that has no length.
    socket.destroy = (error?: Error): Socket => {
      if (!isReset(error) || carried.isEnded || !this.#sockets.has(id)) return destroy(error);
      carried.end = () => void destroy(error);
      setTimeout(() => destroy(gone()), EGRESS_CLAIM_MS_MAX).unref(); // whatever is not said
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

  /** Ends every connection. */
  close(): void {
    this.#isClosed = true;
    this.#broken(this.#linked, gone());
  }

  async #ask(asked: Asked): Promise<EgressAnswer> {
    this.#link ??= this.#connect();
    const link = await this.#link;
    const id = ++this.#lastId;
    return await new Promise((resolve, reject) => {
      this.#answers.set(id, {resolve, reject});
      // Whoever looks whether anything is under way finds that it is (node/child-sandbox.ts).
      link.ref();
      this.#say(link, {...asked, id} as EgressQuestion);
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
      await new Promise(resolve => setTimeout(resolve, EGRESS_START_LOOK_MS));
    }
  }

  /** Null: nobody is there. */
  #connected(): Promise<Socket | null> {
    return new Promise(resolve => {
      const link = this.#parts.connectTo(this.#door.socketPath);
      link.once('connect', () => resolve(link));
      link.once('error', () => resolve(null));
    });
  }

  #opened(link: Socket): Socket {
    this.#linked = link;
    // Without a question it keeps no process.
    link.unref();
    link.write(`${JSON.stringify({secret: this.#door.secret} satisfies EgressHello)}\n`);
    let text = '';
    link.setEncoding('utf8');
    link.on('data', (piece: string) => {
      const lines = (text + piece).split('\n');
      text = lines.pop()!;
      for (const line of lines) this.#answered(JSON.parse(line) as EgressAnswer);
    });
    link.on('error', () => undefined);
    // Not with its close, which comes later: connections whose end is seen in the same moment are to know that it is none.
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
      waiting?.reject(errorOf(answer.error)); // It was not told to be open yet.
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

/** Of the connection to the egress process: the system's message names a path of the server. */
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

/** Not as a reset: undici takes what came before one for all of an answer that has no length. */
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
