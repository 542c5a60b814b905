/** A client of /ws that shows frames one at a time, in the order they came. */
import {WebSocket} from 'undici';
import type {Service} from './service.ts';

/** Fields as the contract names them; what a test looks at, it asserts. */
export type Frame = {
  type: string;
  subscription_id?: number;
  request_id?: string;
  id?: string;
  data?: Record<string, unknown>[];
  error?: {code: string; message: string; detail?: Record<string, unknown>};
  is_authenticated?: boolean;
};

export class Socket {
  readonly #ws: WebSocket;
  readonly #frames: Frame[] = [];
  readonly #waiting: ((frame: Frame) => void)[] = [];
  /** Resolves when the connection is closed. */
  readonly closed: Promise<{code: number; reason: string}>;

  private constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.addEventListener('message', event => {
      const frame = JSON.parse(String(event.data)) as Frame;
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#frames.push(frame);
      else waiting(frame);
    });
    this.closed = new Promise(resolve => {
      ws.addEventListener('close', ({code, reason}) => resolve({code, reason}));
    });
  }

  /** Upgraded; `hello` is the first frame. */
  static async open(service: Service, tenant: string, token = service.accessToken): Promise<Socket> {
    const ws = new WebSocket(`${service.url.replace('http', 'ws')}/ws?tenant_id=${tenant}`, {
      protocols: ['svc.v2'],
      headers: {authorization: `Bearer ${token}`},
    });
    const socket = new Socket(ws);
    await new Promise<void>((resolve, reject) => {
      ws.addEventListener('open', () => resolve());
      ws.addEventListener('error', event => reject(event.error));
    });
    return socket;
  }

  /** Past the handshake. */
  static async established(service: Service, tenant: string, token?: string): Promise<Socket> {
    const socket = await Socket.open(service, tenant, token);
    await socket.next();
    socket.send({type: 'client_hello', protocol: 'svc.v2'});
    return socket;
  }

  send(message: object | string | Uint8Array): void {
    const raw = typeof message === 'string' || message instanceof Uint8Array;
    this.#ws.send(raw ? (message as string) : JSON.stringify(message));
  }

  next(): Promise<Frame> {
    const frame = this.#frames.shift();
    if (frame !== undefined) return Promise.resolve(frame);
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** The next frame that satisfies `wanted`; those before it are dropped. */
  async nextThat(wanted: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const frame = await this.next();
      if (wanted(frame)) return frame;
    }
  }

  /** Frames that came and were not looked at. */
  get unread(): readonly Frame[] {
    return this.#frames;
  }

  close(): void {
    this.#ws.close();
  }
}
