/**
 * A WebSocket client as light as the load needs: one TCP connection, a handshake by hand, frames from the server counted and
 * handed over as bytes. A library's client costs more than the server it measures.
 */
import {randomBytes} from 'node:crypto';
import {connect, type Socket} from 'node:net';

const TEXT = 0x1;
const PING = 0x9;
const HEAD_END = '\r\n\r\n';

export type OnText = (payload: Buffer) => void;

export class LoadSocket {
  readonly #socket: Socket;
  #onText: OnText = () => undefined;
  #rest: Buffer = Buffer.alloc(0);
  #upgraded: (() => void) | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', chunk => this.#data(chunk as Buffer));
    socket.on('error', () => socket.destroy());
  }

  /** Resolves once upgraded. */
  static async open(port: number, path: string, headers: Record<string, string>): Promise<LoadSocket> {
    const socket = connect({host: '127.0.0.1', port});
    const client = new LoadSocket(socket);
    const lines = Object.entries({
      host: `127.0.0.1:${port}`,
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      'sec-websocket-version': '13',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`);
    await new Promise<void>((resolve, reject) => {
      client.#upgraded = resolve;
      socket.once('close', () => reject(new Error('the socket was closed before its upgrade')));
      socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}${HEAD_END}`);
    });
    return client;
  }

  onText(handler: OnText): void {
    this.#onText = handler;
  }

  send(text: string): void {
    this.#frame(TEXT, Buffer.from(text));
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Client frames are masked; the mask may be any, so it is 0. */
  #frame(opcode: number, payload: Buffer): void {
    const {length} = payload;
    const head = length < 126 ? Buffer.from([0x80 | opcode, 0x80 | length, 0, 0, 0, 0]) : Buffer.alloc(8);
    if (length >= 126) {
      head[0] = 0x80 | opcode;
      head[1] = 0x80 | 126;
      head.writeUInt16BE(length, 2);
    }
    this.#socket.write(Buffer.concat([head, payload]));
  }

  #data(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (this.#upgraded !== null) {
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) {
        this.#rest = bytes;
        return;
      }
      if (!bytes.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101'))) {
        this.#socket.destroy();
        return;
      }
      bytes = bytes.subarray(end + HEAD_END.length);
      this.#upgraded();
      this.#upgraded = null;
    }
    this.#rest = bytes.subarray(this.#frames(bytes));
  }

  /** Handles whole frames; returns how many bytes they took. */
  #frames(bytes: Buffer): number {
    let at = 0;
    while (bytes.length - at >= 2) {
      const short = bytes[at + 1]! & 0x7f;
      const headBytes = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (bytes.length - at < headBytes) return at;
      const length =
        short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
      if (bytes.length - at < headBytes + length) return at;
      const payload = bytes.subarray(at + headBytes, at + headBytes + length);
      const opcode = bytes[at]! & 0x0f;
      if (opcode === TEXT) this.#onText(payload);
      else if (opcode === PING) this.#frame(0xa, payload);
      at += headBytes + length;
    }
    return at;
  }
}
