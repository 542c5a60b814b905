/** The WebSockets of one action: undici's, under the tenant's egress policy. Their events are passed to the isolate. */
import {setTimeout} from 'node:timers/promises';
import {WebSocket} from 'undici';
import type {Egress} from '../egress/connector.ts';
import {connected} from '../egress/no-network.ts';
import type {SocketCall, SocketEvent} from '../guest/actions/web-socket.ts';
import {
  ACTION_SOCKETS_MAX,
  SOCKET_READ_AHEAD_BYTES_MAX,
  SOCKET_UNSENT_BYTES_MAX,
  SOCKET_UNSENT_CHECK_MS,
} from '../limits.ts';

/** Passes an event to the isolate; resolves when it was delivered. */
export type OnSocketEvent = (event: SocketEvent, bytes: Uint8Array | null) => Promise<void>;

type Open = {socket: WebSocket; unreadBytes: number};

export class ActionSockets {
  /** Null: there is no network. */
  readonly #egress: Egress | null;
  readonly #onEvent: OnSocketEvent;
  readonly #sockets = new Map<number, Open>();

  constructor(egress: Egress | null, onEvent: OnSocketEvent) {
    this.#egress = egress;
    this.#onEvent = onEvent;
  }

  /** Number of sockets that can still send events. */
  get size(): number {
    return this.#sockets.size;
  }

  /** @param call from the isolate. @throws the errors of WebSocket's constructor */
  open({id, url, protocols}: SocketCall): void {
    const egress = connected(this.#egress);
    if (this.#sockets.size >= ACTION_SOCKETS_MAX)
      throw new Error(`Too many WebSockets (maximum ${ACTION_SOCKETS_MAX})`);
    const socket = new WebSocket(url, {protocols, dispatcher: egress.sockets});
    socket.binaryType = 'arraybuffer';
    const open: Open = {socket, unreadBytes: 0};
    this.#sockets.set(id, open);
    socket.onopen = () =>
      this.#tell(open, {id, type: 'open', protocol: socket.protocol, extensions: socket.extensions});
    socket.onmessage = ({data}) => this.#message(id, open, data as string | ArrayBuffer);
    socket.onerror = ({message}) => this.#tell(open, {id, type: 'error', message: message ?? ''});
    socket.onclose = ({code, reason, wasClean}) => {
      this.#sockets.delete(id);
      this.#tell(open, {id, type: 'close', code, reason, wasClean});
    };
  }

  /** Sends at once; resolves when the network has accepted it. @param text null: the bytes are the message */
  async send(id: number, text: string | null, bytes: Uint8Array | null): Promise<void> {
    const open = this.#sockets.get(id);
    if (open === undefined || open.socket.readyState !== WebSocket.OPEN) return; // the standard says to drop it
    const {socket} = open;
    socket.send(text ?? bytes ?? new Uint8Array(0));
    if (socket.bufferedAmount > SOCKET_UNSENT_BYTES_MAX) this.#drop(id, open, 'more was sent than the network takes');
    // undici has no event for a drained socket.
    while (socket.bufferedAmount > 0 && socket.readyState === WebSocket.OPEN) await setTimeout(SOCKET_UNSENT_CHECK_MS);
  }

  close(id: number, code: number | undefined, reason: string): void {
    this.#sockets.get(id)?.socket.close(code, reason);
  }

  /** The action is over: no more events are delivered. */
  closeAll(): void {
    for (const {socket} of this.#sockets.values()) {
      socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null;
      socket.close();
    }
    this.#sockets.clear();
  }

  #message(id: number, open: Open, data: string | ArrayBuffer): void {
    const bytes = typeof data === 'string' ? data.length * 2 : data.byteLength;
    open.unreadBytes += bytes;
    const event: SocketEvent = {id, type: 'message', text: typeof data === 'string' ? data : null};
    this.#tell(open, event, typeof data === 'string' ? null : new Uint8Array(data), bytes);
    if (open.unreadBytes > SOCKET_READ_AHEAD_BYTES_MAX) this.#drop(id, open, 'more arrived than the action reads');
  }

  #tell(open: Open, event: SocketEvent, bytes: Uint8Array | null = null, size = 0): void {
    void this.#onEvent(event, bytes).then(() => {
      open.unreadBytes -= size;
    });
  }

  #drop(id: number, open: Open, message: string): void {
    const {socket} = open;
    socket.onmessage = socket.onerror = socket.onclose = null;
    socket.close();
    this.#sockets.delete(id);
    this.#tell(open, {id, type: 'error', message});
    this.#tell(open, {id, type: 'close', code: 1006, reason: '', wasClean: false});
  }
}
