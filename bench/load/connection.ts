/**
 * One keep-alive connection of the load generator: a raw socket with the least of an HTTP/1.1 client that the measured
 * servers need (status, Content-Length or chunks), because every microsecond spent here is taken from them.
 */
import {Buffer} from 'node:buffer';
import {connect, type Socket} from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = '\r\n0\r\n\r\n';
const READ_BUFFER_BYTES = 64 * 1024;

export class LoadConnection {
  readonly #socket: Socket;
  readonly #onAnswer: (status: number) => void;
  /** Bytes of an answer that has not arrived whole. */
  #partial: Buffer | null = null;

  constructor(port: number, onReady: () => void, onAnswer: (status: number) => void, onBroken: () => void) {
    this.#onAnswer = onAnswer;
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(READ_BUFFER_BYTES),
        callback: (length, buffer) => {
          this.#received(buffer as Buffer, length);
          return true;
        },
      },
    });
    this.#socket.once('connect', onReady);
    this.#socket.once('error', onBroken);
    this.#socket.once('end', onBroken);
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.removeAllListeners();
    this.#socket.destroy();
  }

  #received(buffer: Buffer, length: number): void {
    const fresh = buffer.subarray(0, length);
    const bytes = this.#partial === null ? fresh : Buffer.concat([this.#partial, fresh]);
    const headEnd = bytes.indexOf(HEAD_END);
    const status = headEnd === -1 ? null : completeStatus(bytes, headEnd + HEAD_END.length);
    if (status === null) {
      this.#partial = Buffer.from(bytes); // the read buffer is used again
      return;
    }
    this.#partial = null;
    this.#onAnswer(status);
  }
}

/** The status of the answer in `bytes`, or null while its body is not complete. */
function completeStatus(bytes: Buffer, bodyStart: number): number | null {
  const head = bytes.toString('latin1', 0, bodyStart).toLowerCase();
  const status = Number(head.slice(9, 12));
  const at = head.indexOf('\r\ncontent-length:');
  if (at !== -1) return bytes.length - bodyStart >= Number.parseInt(head.slice(at + 17), 10) ? status : null;
  if (!head.includes('\r\ntransfer-encoding: chunked')) return status; // no body: 204
  const tail = bytes.toString('latin1', Math.max(bytes.length - LAST_CHUNK.length, 0));
  return tail === LAST_CHUNK ? status : null;
}
