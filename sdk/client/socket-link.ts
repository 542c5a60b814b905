/**
 * The one socket of a client, which opens on first use and again whenever it is lost.
 *
 *   idle ──start──▶ connecting ──open──▶ open
 *                    ▲      │ close | error | 10 s       │ close | 60 s of silence | restart
 *                    │      ▼                           ▼
 *                    └── waiting (back-off) ◀───────────┘
 *                 time is over, also while the page was hidden | the network is back
 *
 *   any ──end──▶ ended, for good
 *
 * Consecutive failures increase the back-off; `caughtUp` resets it. An open socket alone does not count as success,
 * because an overloaded server opens sockets and closes them.
 */
import {
  CLIENT_BACK_OFF_CLEAN_MS,
  CLIENT_BACK_OFF_MS,
  CLIENT_BACK_OFF_OVERLOAD_MS,
  CLIENT_CLOSE_MS,
  CLIENT_CONNECT_MS,
  CLIENT_SILENCE_MS,
} from '../../shared/client-limits.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import type {Any} from '../values/any.ts';
import {clientBackOffMs} from './back-off.ts';

/** `WebSocket` of browsers, Node 22 and other runtimes, or of the package `ws`. */
export type WebSocketConstructor = new (url: string, protocols?: string | string[]) => Any;

type Socket = {
  onopen: (() => void) | null;
  onmessage: ((event: {data: unknown}) => void) | null;
  onclose: ((event: {code: number; reason: string}) => void) | null;
  onerror: (() => void) | null;
  send(text: string): void;
  close(): void;
};

/** Features that browsers have and other runtimes can have. */
type Page = {
  addEventListener?: (type: string, listener: () => void) => void;
  removeEventListener?: (type: string, listener: () => void) => void;
  document?: Page & {visibilityState?: string};
};

export type LinkEvents = {
  opened(lastCloseReason: string | undefined): void;
  frame(text: string): void;
  /** A socket that was open is lost. */
  lost(): void;
  /** The state or one of the counts has changed. */
  changed(): void;
  log(text: string): void;
};

export class SocketLink {
  readonly #url: string;
  readonly #socketClass: WebSocketConstructor | undefined;
  readonly #events: LinkEvents;
  #state: 'idle' | 'connecting' | 'open' | 'waiting' | 'ended' = 'idle';
  #socket: Socket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastFrameMs = 0;
  #lastCloseReason: string | undefined;
  #opened = 0;
  #failures = 0;
  readonly #page = globalThis as Page;
  /** When the next attempt is due, in epoch milliseconds. */
  #nextMs = 0;
  readonly #online = () => {
    // An attempt that started on a network that is gone would hang.
    if (this.#state === 'connecting') this.#lost('client: the network is back', CLIENT_BACK_OFF_CLEAN_MS);
    this.#wakeUp(true);
  };
  readonly #seen = () => {
    if (this.#page.document?.visibilityState !== 'hidden') this.#wakeUp(Date.now() >= this.#nextMs);
  };

  constructor(url: string, socketClass: WebSocketConstructor | undefined, events: LinkEvents) {
    this.#url = url;
    this.#socketClass = socketClass;
    this.#events = events;
  }

  /** Sockets opened so far, including the current one. */
  get opened(): number {
    return this.#opened;
  }

  /** Failed attempts since the client was last up to date. */
  get failures(): number {
    return this.#failures;
  }

  /** @throws Error when there is no WebSocket */
  start(): void {
    if (this.#state !== 'idle') return;
    this.#connect();
    this.#page.addEventListener?.('online', this.#online);
    this.#page.document?.addEventListener?.('visibilitychange', this.#seen);
  }

  send(text: string): void {
    this.#socket?.send(text);
  }

  caughtUp(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#events.changed();
  }

  /** Drops a socket that can no longer be used. */
  restart(reason: string): void {
    this.#lost(`client: ${reason}`, CLIENT_BACK_OFF_CLEAN_MS);
  }

  /** Resolves when the socket is closed, or after CLIENT_CLOSE_MS. */
  async end(): Promise<void> {
    const socket = this.#drop('ended');
    this.#page.removeEventListener?.('online', this.#online);
    this.#page.document?.removeEventListener?.('visibilitychange', this.#seen);
    if (socket === null) return;
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, CLIENT_CLOSE_MS);
      socket.onclose = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #connect(): void {
    const SocketClass = this.#socketClass ?? (globalThis as {WebSocket?: WebSocketConstructor}).WebSocket;
    if (typeof SocketClass !== 'function') {
      throw new Error(
        'There is no WebSocket here: pass one as webSocketConstructor (for Node 20, of the package ws), or use SvcHttpClient',
      );
    }
    const socket = new SocketClass(this.#url, FUNCTION_PROTOCOL) as Socket;
    this.#socket = socket;
    this.#state = 'connecting';
    this.#timer = setTimeout(() => this.#lost('client: not open in time', CLIENT_BACK_OFF_MS), CLIENT_CONNECT_MS);
    socket.onopen = () => {
      this.#state = 'open';
      this.#opened++;
      this.#heard();
      this.#events.log(`socket ${this.#opened} is open`);
      this.#events.opened(this.#lastCloseReason);
      this.#events.changed();
    };
    socket.onmessage = ({data}) => {
      this.#heard();
      if (typeof data === 'string') this.#events.frame(data);
      else this.restart('a binary frame');
    };
    socket.onclose = ({code, reason}) => this.#lost(`${code} ${reason}`.trim(), baseOf(code));
    // A close event with the reason follows, except when a socket of Node 22 fails to open.
    socket.onerror = () => {
      setTimeout(() => {
        if (this.#socket === socket && this.#state === 'connecting') this.#lost('error', CLIENT_BACK_OFF_MS);
      });
    };
  }

  #heard(): void {
    this.#lastFrameMs = Date.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.restart('silence'), CLIENT_SILENCE_MS);
  }

  #lost(reason: string, baseMs: number): void {
    if (this.#socket === null) return;
    this.#events.log(`socket lost: ${reason}`);
    this.#lastCloseReason = reason.slice(0, 200);
    const waitMs = clientBackOffMs(baseMs, this.#failures, Math.random());
    this.#nextMs = Date.now() + waitMs;
    this.#failures++;
    this.#drop('waiting');
    // An event listener might have ended the link.
    if (this.#state === 'waiting') this.#timer = setTimeout(() => this.#connect(), waitMs);
  }

  /** @returns the socket, which is closing and no longer observed */
  #drop(next: 'waiting' | 'ended'): Socket | null {
    const socket = this.#socket;
    const wasOpen = this.#state === 'open';
    clearTimeout(this.#timer);
    this.#socket = null;
    this.#state = next;
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
    if (wasOpen) this.#events.lost();
    this.#events.changed();
    return socket;
  }

  /** Timers stop in hidden pages and on sleeping machines, so silence is checked here too. */
  #wakeUp(isDue: boolean): void {
    if (this.#state === 'waiting') {
      if (!isDue) return;
      clearTimeout(this.#timer);
      this.#connect();
    } else if (this.#socket !== null && Date.now() - this.#lastFrameMs > CLIENT_SILENCE_MS) this.restart('silence');
  }
}

function baseOf(code: number): number {
  if (code === 1013) return CLIENT_BACK_OFF_OVERLOAD_MS;
  return [1000, 1001, 1005, 1012].includes(code) ? CLIENT_BACK_OFF_CLEAN_MS : CLIENT_BACK_OFF_MS;
}
