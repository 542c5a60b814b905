/**
 * A worker's end of the pipe to a process that runs code of tenants: frames (frames.ts), both ways. Everything that arrives is outside
 * input, since such code may have left its isolate: it is checked before it is used. A process that breaks a rule of its pipe is reported
 * once, and nothing that it says later is heard.
 */
import type {Buffer} from 'node:buffer';
import type {Socket} from 'node:net';
import {type Fields, FrameReceiver, FrameSender} from './frames.ts';

export type PipeRules<Received> = {
  /** The longest frame. */
  frameBytesMax: number;
  /** What may wait to be read by the process: one that requests and reads no answer would have it kept here. */
  unreadBytesMax: number;
  /** @returns null: no process of ours says this. It must not throw, whatever it is given. */
  check: (head: Fields, tail: Buffer) => Received | null;
};

export type PipeFault = 'malformed' | 'unread';

export type PipeEvents<Received> = {
  /** `tail` is a view into what arrived. */
  onMessage(message: Received, tail: Buffer): void;
  /** Once. */
  onFault(fault: PipeFault): void;
};

export class Pipe<Sent extends object, Received> {
  /** Null: the process did not come to be. */
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
    socket?.on('data', piece => {
      if (!this.#isClosed && !receiver.push(piece as Buffer)) this.#fault('malformed');
    });
    // The end of the process reports it.
    socket?.on('error', () => undefined);
  }

  send(message: Sent, tail: string | Uint8Array = ''): void {
    this.#sender.send(message, tail);
  }

  /** What the process says waits, until it is heard again. */
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
