/**
 * `WebSocket` of actions, with the standard's interface. The host holds the connection, under the tenant's egress
 * policy, and sends events about it. Sockets end with their action.
 */
import {Event, EventTarget} from '../globals/web/events.ts';
import {state} from '../state.ts';
import {asyncCall, notifyHost, startCall} from './async-call.ts';

export type SocketCall = {id: number; url: string; protocols: string[]};
export type SocketEvent =
  | {id: number; type: 'open'; protocol: string; extensions: string}
  | {id: number; type: 'message'; text: string | null}
  | {id: number; type: 'error'; message: string}
  | {id: number; type: 'close'; code: number; reason: string; wasClean: boolean};

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;
const REASON_BYTES_MAX = 123;

const sockets = new Map<number, ActionWebSocket>();
/** The invocation that owns the sockets. */
let owner = 0;
let lastSocket = 0;

/** Called by the kernel for an event on a socket. @param detail JSON of SocketEvent */
export function networkEvent(_name: string, detail: string, bytes: Uint8Array | null): void {
  const event = JSON.parse(detail) as SocketEvent;
  sockets.get(event.id)?.happened(event, bytes);
}

type Handler = ((event: Event) => unknown) | null;
const EVENTS = ['open', 'message', 'error', 'close'] as const;

export class ActionWebSocket extends EventTarget {
  static readonly CONNECTING = CONNECTING;
  static readonly OPEN = OPEN;
  static readonly CLOSING = CLOSING;
  static readonly CLOSED = CLOSED;
  readonly CONNECTING = CONNECTING;
  readonly OPEN = OPEN;
  readonly CLOSING = CLOSING;
  readonly CLOSED = CLOSED;
  readonly url: string;
  onopen: Handler = null;
  onmessage: Handler = null;
  onerror: Handler = null;
  onclose: Handler = null;
  readonly #id = ++lastSocket;
  #state: 0 | 1 | 2 | 3 = CONNECTING;
  #bufferedAmount = 0;
  #protocol = '';
  #extensions = '';
  #binaryType: 'blob' | 'arraybuffer' = 'blob';

  constructor(url: string | URL, protocols: string | string[] = []) {
    super();
    this.url = checkUrl(url);
    const list = typeof protocols === 'string' ? [protocols] : [...protocols];
    if (new Set(list).size < list.length) throw new DOMException('A subprotocol is given twice', 'SyntaxError');
    for (const type of EVENTS) this.addEventListener(type, event => this[`on${type}`]?.call(this, event));
    if (owner !== state.invocation) sockets.clear();
    owner = state.invocation;
    sockets.set(this.#id, this);
    asyncCall('wsOpen', {id: this.#id, url: this.url, protocols: list} satisfies SocketCall).catch((refused: Error) => {
      const id = this.#id;
      this.happened({id, type: 'error', message: refused.message}, null);
      this.happened({id, type: 'close', code: 1006, reason: '', wasClean: false}, null);
    });
  }

  get readyState(): number {
    return this.#state;
  }
  /** Bytes that the network has not accepted. */
  get bufferedAmount(): number {
    return this.#bufferedAmount;
  }
  get protocol(): string {
    return this.#protocol;
  }
  get extensions(): string {
    return this.#extensions;
  }
  get binaryType(): 'blob' | 'arraybuffer' {
    return this.#binaryType;
  }
  set binaryType(type: 'blob' | 'arraybuffer') {
    if (type === 'blob' || type === 'arraybuffer') this.#binaryType = type;
  }

  send(data: string | ArrayBuffer | ArrayBufferView | Blob): void {
    if (this.#state === CONNECTING) throw new DOMException('The WebSocket is still connecting', 'InvalidStateError');
    if (this.#state !== OPEN) return;
    if (typeof data === 'string') this.#send(data, null, new TextEncoder().encode(data).length);
    else if (data instanceof Blob) void data.arrayBuffer().then(buffer => this.#sendBytes(new Uint8Array(buffer)));
    else if (ArrayBuffer.isView(data)) this.#sendBytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    else this.#sendBytes(new Uint8Array(data));
  }

  close(code?: number, reason = ''): void {
    if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) {
      throw new DOMException(`${code} is not a close code: 1000, or 3000 to 4999`, 'InvalidAccessError');
    }
    if (new TextEncoder().encode(reason).length > REASON_BYTES_MAX) {
      throw new DOMException(`The reason takes more than ${REASON_BYTES_MAX} bytes`, 'SyntaxError');
    }
    if (this.#state >= CLOSING) return;
    this.#state = CLOSING;
    notifyHost('wsClose', {id: this.#id, code, reason});
  }

  happened(event: SocketEvent, bytes: Uint8Array | null): void {
    switch (event.type) {
      case 'open':
        this.#state = OPEN;
        this.#protocol = event.protocol;
        this.#extensions = event.extensions;
        this.dispatchEvent(new Event('open'));
        return;
      case 'message':
        this.#dispatch('message', {
          data: event.text ?? this.#binary(bytes ?? new Uint8Array(0)),
          origin: new URL(this.url).origin,
        });
        return;
      case 'error':
        this.#dispatch('error', {message: event.message});
        return;
      case 'close': {
        this.#state = CLOSED;
        sockets.delete(this.#id);
        const {code, reason, wasClean} = event;
        this.#dispatch('close', {code, reason, wasClean});
        return;
      }
    }
  }

  #sendBytes(bytes: Uint8Array): void {
    this.#send(null, bytes.slice(), bytes.length);
  }

  #send(text: string | null, bytes: Uint8Array | null, size: number): void {
    this.#bufferedAmount += size;
    startCall('wsSend', {id: this.#id, text}, bytes, () => {
      this.#bufferedAmount -= size;
    });
  }

  #binary(bytes: Uint8Array): ArrayBuffer | Blob {
    const copy = bytes.slice();
    return this.#binaryType === 'arraybuffer' ? copy.buffer : new Blob([copy]);
  }

  #dispatch(type: string, fields: object): void {
    const event = new Event(type);
    for (const [name, value] of Object.entries(fields)) Object.defineProperty(event, name, {value, enumerable: true});
    this.dispatchEvent(event);
  }
}

function checkUrl(url: string | URL): string {
  const parsed = URL.parse(String(url));
  if (parsed === null) throw new DOMException(`${String(url)} is not a URL`, 'SyntaxError');
  if (parsed.protocol === 'http:') parsed.protocol = 'ws:';
  if (parsed.protocol === 'https:') parsed.protocol = 'wss:';
  if (parsed.protocol !== 'ws:' && parsed.protocol !== 'wss:') {
    throw new DOMException(`${parsed.protocol} is not a scheme of WebSockets`, 'SyntaxError');
  }
  if (parsed.hash !== '') throw new DOMException('The URL of a WebSocket has no fragment', 'SyntaxError');
  return parsed.href;
}
