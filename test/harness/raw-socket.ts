/**
 * A client of /ws down to the bytes, for what a library hides: frames of any kind and size, pings and pongs, an upgrade that
 * is refused, and a reader that stops reading.
 */
import {randomBytes} from 'node:crypto';
import {connect, type Socket as TcpSocket} from 'node:net';
import type {Service} from './service.ts';
import type {Frame} from './socket.ts';

export const Opcode = {continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10} as const;
export type RawFrame = {opcode: number; payload: Buffer};

export class RawSocket {
  readonly #tcp: TcpSocket;
  #chunks: Buffer[] = [];
  #have = 0;
  readonly #frames: RawFrame[] = [];
  readonly #waiting: ((frame: RawFrame) => void)[] = [];
  /** Resolves when the connection is gone, however it ended. */
  readonly closed: Promise<void>;

  private constructor(tcp: TcpSocket, rest: Buffer) {
    this.#tcp = tcp;
    this.closed = new Promise(resolve => tcp.once('close', () => resolve()));
    tcp.on('error', () => undefined); // a reset; `closed` follows
    tcp.on('data', chunk => this.#read(chunk as Buffer));
    this.#read(rest);
  }

  /** Upgraded; `hello` is the first frame. */
  static open(service: Service, tenant: string): Promise<RawSocket> {
    return RawSocket.#upgraded(service, upgradeRequest(service, {'x-tenant-id': tenant}));
  }

  /** The same on the function socket. */
  static openFunctions(service: Service, tenant: string): Promise<RawSocket> {
    const headers = {'sec-websocket-protocol': 'svc.functions.v1', authorization: undefined};
    return RawSocket.#upgraded(service, upgradeRequest(service, headers, `/svc/${tenant}/ws`));
  }

  static async #upgraded(service: Service, head: string): Promise<RawSocket> {
    const tcp = connect({host: '127.0.0.1', port: service.port, noDelay: true});
    tcp.write(head);
    const rest = await new Promise<Buffer>((resolve, reject) => {
      let received = Buffer.alloc(0);
      const read = (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        const end = received.indexOf('\r\n\r\n');
        if (end < 0) return;
        tcp.off('data', read);
        if (received.subarray(0, 12).toString() === 'HTTP/1.1 101') resolve(received.subarray(end + 4));
        else reject(new Error(received.toString()));
      };
      tcp.on('data', read);
      tcp.once('error', reject);
    });
    return new RawSocket(tcp, rest);
  }

  /** Past the handshake. */
  static async established(service: Service, tenant: string): Promise<RawSocket> {
    const socket = await RawSocket.open(service, tenant);
    await socket.next();
    socket.send({type: 'client_hello', protocol: 'svc.v2'});
    return socket;
  }

  send(message: object): void {
    this.frame(Opcode.text, JSON.stringify(message));
  }

  frame(opcode: number, payload: string | Buffer, isFinal = true): void {
    this.#tcp.write(encodeFrame(opcode, payload, isFinal));
  }

  /** Many frames in one write. */
  burst(messages: readonly object[]): void {
    this.#tcp.write(Buffer.concat(messages.map(message => encodeFrame(Opcode.text, JSON.stringify(message), true))));
  }

  next(): Promise<RawFrame> {
    const frame = this.#frames.shift();
    if (frame !== undefined) return Promise.resolve(frame);
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** The next text frame, parsed; pings in between are left out. */
  async nextMessage(): Promise<Frame> {
    for (;;) {
      const {opcode, payload} = await this.next();
      if (opcode === Opcode.text) return JSON.parse(payload.toString()) as Frame;
    }
  }

  /** Takes nothing more from the network: what the server sends stays with it. */
  stopReading(): void {
    this.#tcp.pause();
  }

  readAgain(): void {
    this.#tcp.resume();
  }

  close(): void {
    this.#tcp.destroy();
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    if (this.#have < needed(this.#chunks[0]!)) return;
    let bytes = Buffer.concat(this.#chunks);
    for (let need = needed(bytes); bytes.length >= need && bytes.length > 0; need = needed(bytes)) {
      const payload = bytes.subarray(headerBytes(bytes), need);
      this.#take({opcode: bytes[0]! & 0x0f, payload: Buffer.from(payload)});
      bytes = bytes.subarray(need);
    }
    this.#chunks = bytes.length === 0 ? [] : [bytes];
    this.#have = bytes.length;
  }

  #take(frame: RawFrame): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#frames.push(frame);
    else waiting(frame);
  }
}

/** What a close frame says. */
export function closeReason({payload}: RawFrame): {code: number; reason: string} {
  return {code: payload.readUInt16BE(0), reason: payload.subarray(2).toString()};
}

/** The head of a proper upgrade request; a header given as undefined is left out. */
export function upgradeRequest(service: Service, headers: Record<string, string | undefined>, path = '/ws'): string {
  const all: Record<string, string | undefined> = {
    host: `127.0.0.1:${service.port}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
    'sec-websocket-protocol': 'svc.v2',
    authorization: `Bearer ${service.accessToken}`,
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== undefined);
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** As a client must: masked. */
function encodeFrame(opcode: number, payload: string | Buffer, isFinal: boolean): Buffer {
  const body = Buffer.from(payload);
  const mask = randomBytes(4);
  for (let i = 0; i < body.length; i++) body[i]! ^= mask[i & 3]!;
  return Buffer.concat([frameHead(opcode, body.length, isFinal), mask, body]);
}

function frameHead(opcode: number, length: number, isFinal: boolean): Buffer {
  const first = (isFinal ? 0x80 : 0) | opcode;
  if (length < 126) return Buffer.from([first, 0x80 | length]);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = 0x80 | (length < 65_536 ? 126 : 127);
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** Of a frame from the server, which is not masked. */
function headerBytes(bytes: Buffer): number {
  const length = bytes[1]! & 0x7f;
  return length < 126 ? 2 : length === 126 ? 4 : 10;
}

/** Bytes of the frame that begins here, as far as its head tells. */
function needed(bytes: Buffer): number {
  if (bytes.length < 2) return 2;
  const head = headerBytes(bytes);
  if (bytes.length < head) return head;
  if (head === 2) return 2 + (bytes[1]! & 0x7f);
  return head + (head === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)));
}
