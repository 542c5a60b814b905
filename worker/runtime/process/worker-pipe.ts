/**
 * The process's end of the pipe to its worker (confined-process.ts). When the pipe closes, the process kills itself: an
 * orderly exit would wait for running isolates.
 */
import type {Buffer} from 'node:buffer';
import {Socket} from 'node:net';
import {assert} from '../../../shared/assert.ts';
import {FrameReceiver, FrameSender} from './frames.ts';

/** The descriptor of this end, set by the worker. */
const CHANNEL = 3;

export class WorkerPipe<Sent extends object, Received> {
  readonly #socket = new Socket({fd: CHANNEL});
  readonly #sender = new FrameSender(bytes => this.#socket.write(bytes));

  /** @param frameBytesMax the worker's longest frame */
  constructor(frameBytesMax: number, onMessage: (message: Received, tail: Buffer) => void) {
    const receiver = new FrameReceiver((head, tail) => onMessage(head as Received, tail), frameBytesMax);
    const end = () => process.kill(process.pid, 'SIGKILL');
    this.#socket.on('close', end);
    this.#socket.on('error', end);
    this.#socket.on('data', chunk => {
      assert(receiver.push(chunk as Buffer), 'the worker says what this process understands');
    });
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => undefined);
  }

  send(message: Sent, tail: string | Uint8Array = ''): void {
    this.#sender.send(message, tail);
  }

  /** @param head JSON of a message */
  sendText(head: string, tail: string): void {
    this.#sender.sendText(head, tail);
  }
}
