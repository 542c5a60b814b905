/**
 * Our end of the channel to a child; the other end is Node's own (`process.send`, lines of JSON over a socket). Our end
 * is not Node's, because a compromised child can send anything: Node buffers lines of any length, throws at invalid
 * JSON and obeys internal commands, all within this process, with which every other child ends.
 */
import {Buffer} from 'node:buffer';
import type {Socket} from 'node:net';
import {CONTROL_LINE_BYTES_MAX, CONTROL_UNREAD_BYTES_MAX} from '../limits.ts';

/** Tells Node in the child which descriptor its end is: the first one after the standard ones. */
export const CHANNEL_FD = 3;
export const CHANNEL_ENVIRONMENT = {NODE_CHANNEL_FD: String(CHANNEL_FD), NODE_CHANNEL_SERIALIZATION_MODE: 'json'};

export type ChannelEvents = {
  message(message: object): void;
  /** The child violates the protocol, or does not read the answers that it requests. Nothing more is read from it. */
  protocolViolation(why: string): void;
  /** The channel was read to its end. Called once. */
  closed(): void;
};

const NEW_LINE = 0x0a;

export class Channel {
  readonly #socket: Socket;
  readonly #events: ChannelEvents;
  /** The beginning of a line, in a buffer that doubles as needed. */
  #buffered = Buffer.alloc(0);
  #bufferedBytes = 0;
  #isOver = false;

  constructor(socket: Socket, events: ChannelEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', () => undefined); // `close` follows
    socket.on('close', () => events.closed());
  }

  get isOpen(): boolean {
    return this.#socket.writable;
  }

  /** @param lost called when the message was not delivered */
  send(message: object, lost: (error: Error) => void): void {
    if (!this.isOpen) return;
    this.#socket.write(`${JSON.stringify(message)}\n`, error => {
      if (error != null) lost(error);
    });
    if (this.#socket.writableLength > CONTROL_UNREAD_BYTES_MAX) this.#end('it does not read its messages');
  }

  #received(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEW_LINE); at !== -1 && !this.#isOver; at = chunk.indexOf(NEW_LINE, from)) {
      this.#hold(chunk.subarray(from, at));
      from = at + 1;
      const line = this.#buffered.toString('utf8', 0, this.#bufferedBytes);
      this.#bufferedBytes = 0;
      if (!this.#isOver) this.#take(line);
    }
    this.#hold(chunk.subarray(from));
  }

  #hold(chunk: Buffer): void {
    if (this.#isOver) return;
    const bytes = this.#bufferedBytes + chunk.length;
    if (bytes > CONTROL_LINE_BYTES_MAX) {
      this.#end('it says too much at once');
      return;
    }
    if (bytes > this.#buffered.length) {
      const larger = Buffer.alloc(Math.max(bytes, 2 * this.#buffered.length));
      this.#buffered.copy(larger, 0, 0, this.#bufferedBytes);
      this.#buffered = larger;
    }
    chunk.copy(this.#buffered, this.#bufferedBytes);
    this.#bufferedBytes = bytes;
  }

  #take(line: string): void {
    const message = objectIn(line);
    if (message === null) this.#end('it says what is no message');
    else this.#events.message(message);
  }

  /** Reports a protocol violation. Later input is still read, to its end, but dropped. */
  #end(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#buffered = Buffer.alloc(0);
    this.#events.protocolViolation(why);
  }
}

function objectIn(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null; // invalid JSON, or nested too deeply
  }
}
