/**
 * A worker's end of the pipe to a process that runs code of tenants: frames (frames.ts) in both directions. Everything
 * that arrives is outside input, because such code can have escaped its isolate: it is checked before use. A protocol
 * violation is reported once, and later messages of that process are ignored.
 */

import type {Buffer} from 'node:buffer';
import type {Socket} from 'node:net';
import type {Fields} from '../../../shared/values/shapes.ts';
import {CHILD_PIPES_MS_MAX} from '../limits.ts';
import {FrameReceiver, FrameSender} from './frames.ts';

export type PipeRules<Received> = {
  /** The longest frame, bytes. */
  frameBytesMax: number;
  /**
   * Limit of bytes that the process has not read: a process that sends requests but never reads answers would fill the
   * worker's memory.
   */
  unreadBytesMax: number;
  /** @returns null: not a message that our process sends. It must not throw, whatever the input. */
  check: (head: Fields, tail: Buffer) => Received | null;
};

export type PipeFault = 'malformed' | 'unread' | 'closed';

export type PipeEvents<Received> = {
  /** `tail` is a view into the received chunk. */
  onMessage(message: Received, tail: Buffer): void;
  /** Called once. */
  onFault(fault: PipeFault): void;
};

export class Pipe<Sent extends object, Received> {
  /** Null: the process could not be started. */
  readonly #socket: Socket | null;
  readonly #events: PipeEvents<Received>;
  readonly #sender: FrameSender;
  #isClosed = false;

  constructor(
    socket: Socket | null,
    {frameBytesMax, unreadBytesMax, check}: PipeRules<Received>,
    events: PipeEvents<Received>,
  ) {
    this.#socket = socket;
    this.#events = events;
    this.#sender = new FrameSender(bytes => {
      if (socket?.writable !== true) return;
      socket.write(bytes);
      if (socket.writableLength > unreadBytesMax) this.#fault('unread');
    });
    const receiver = new FrameReceiver((head, tail) => {
      if (this.#isClosed) return;
      const message = check(head, tail);
      if (message === null) this.#fault('malformed');
      else events.onMessage(message, tail);
    }, frameBytesMax);
    socket?.on('data', chunk => {
      if (!this.#isClosed && !receiver.push(chunk as Buffer)) this.#fault('malformed');
    });
    // The end of the process is reported instead, unless the process goes on without its pipe.
    socket?.on('error', () => undefined);
    socket?.on('close', () =>
      // The end of the process, if it has ended, is reported in the turn that follows the timer's at the latest.
      setTimeout(() => setImmediate(() => this.#fault('closed')), CHILD_PIPES_MS_MAX).unref(),
    );
  }

  send(message: Sent, tail: string | Uint8Array = ''): void {
    this.#sender.send(message, tail);
  }

  /** Pauses or resumes reading. Unread messages wait in the pipe. */
  hear(isHeard: boolean): void {
    if (isHeard) this.#socket?.resume();
    else this.#socket?.pause();
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #fault(fault: PipeFault): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.onFault(fault);
  }
}
