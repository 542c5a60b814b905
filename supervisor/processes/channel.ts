/**
 * Our end of the channel to a child; the other is Node's own (`process.send`, lines of JSON over a socket). It is not Node's here,
 * because a child that was taken over says what it likes: Node keeps a line of any length, throws at what is no JSON and takes
 * orders of its own from it, all of that in this process, with which every other child ends.
 */
import {Buffer} from 'node:buffer';
import type {Socket} from 'node:net';
import {CONTROL_LINE_BYTES_MAX, CONTROL_UNREAD_BYTES_MAX} from '../limits.ts';

/** What tells Node in the child where its end is: the descriptor beside the standard ones. */
export const CHANNEL_FD = 3;
export const CHANNEL_ENVIRONMENT = {NODE_CHANNEL_FD: String(CHANNEL_FD), NODE_CHANNEL_SERIALIZATION_MODE: 'json'};

export type ChannelEvents = {
  message(message: object): void;
  /** It says what nobody takes, or does not read what it asks for. Nothing more is taken from it. */
  nonsense(why: string): void;
  /** It is read to its end. Once. */
  closed(): void;
};

const NEW_LINE = 0x0a;

export class Channel {
  readonly #socket: Socket;
  readonly #events: ChannelEvents;
  /** The beginning of a line, in a buffer that grows twofold. */
  #held = Buffer.alloc(0);
  #heldBytes = 0;
  #isOver = false;

  constructor(socket: Socket, events: ChannelEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on('data', (piece: Buffer) => this.#received(piece));
    socket.on('error', () => undefined); // It closes.
    socket.on('close', () => events.closed());
  }

  get isOpen(): boolean {
    return this.#socket.writable;
  }

  /** @param lost is told of a message that nobody got */
  send(message: object, lost: (error: Error) => void): void {
    if (!this.isOpen) return;
    this.#socket.write(`${JSON.stringify(message)}\n`, error => {
      if (error != null) lost(error);
    });
    if (this.#socket.writableLength > CONTROL_UNREAD_BYTES_MAX) this.#end('it does not read what it is told');
  }

  #received(piece: Buffer): void {
    let from = 0;
    for (let at = piece.indexOf(NEW_LINE); at !== -1 && !this.#isOver; at = piece.indexOf(NEW_LINE, from)) {
      this.#hold(piece.subarray(from, at));
      from = at + 1;
      const line = this.#held.toString('utf8', 0, this.#heldBytes);
      this.#heldBytes = 0;
      if (!this.#isOver) this.#take(line);
    }
    this.#hold(piece.subarray(from));
  }

  #hold(piece: Buffer): void {
    if (this.#isOver) return;
    const bytes = this.#heldBytes + piece.length;
    if (bytes > CONTROL_LINE_BYTES_MAX) {
      this.#end('it says too much at once');
      return;
    }
    if (bytes > this.#held.length) {
      const larger = Buffer.alloc(Math.max(bytes, 2 * this.#held.length));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    piece.copy(this.#held, this.#heldBytes);
    this.#heldBytes = bytes;
  }

  #take(line: string): void {
    const message = objectIn(line);
    if (message === null) this.#end('it says what is no message');
    else this.#events.message(message);
  }

  /** Reading goes on, to its end. */
  #end(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#held = Buffer.alloc(0);
    this.#events.nonsense(why);
  }
}

function objectIn(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null; // No JSON, or nested deeper than anybody takes.
  }
}
