/**
 * The worker's end of one function socket: what is under way to it, and what has been handled of what it said.
 *
 * Transitions are made only when there is room, so a slow reader costs a window of bytes. Answers to calls, and the pieces of a long
 * transition, are made once and wait here in order; while any waits there is no room.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../../shared/assert.ts';
import {FUNCTION_SOCKET_CREDIT_BYTES, FUNCTION_SOCKET_WINDOW_BYTES} from '../../../shared/limits.ts';
import type {SocketLink} from '../../ipc/router-link.ts';

export class ClientSocket {
  readonly link: SocketLink;
  readonly stream: number;
  #onRoom: () => void;
  #isOpen = true;
  #underWayBytes = 0;
  #handledBytes = 0;
  /** Messages that wait for the network, in order. */
  #waiting: string[] = [];
  #waitingChars = 0;

  constructor(link: SocketLink, stream: number) {
    this.link = link;
    this.stream = stream;
    this.#onRoom = () => undefined;
  }

  /** @param callback called whenever there may be room again */
  whenRoom(callback: () => void): void {
    this.#onRoom = callback;
  }

  /** False once it was closed, by either side. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  get hasRoom(): boolean {
    return this.#isOpen && this.#waiting.length === 0 && this.#underWayBytes < FUNCTION_SOCKET_WINDOW_BYTES;
  }

  /** Of what waits here. */
  get waitingChars(): number {
    return this.#waitingChars;
  }

  /** Sends a message, now or when those before it have left. */
  send(message: string): void {
    if (!this.#isOpen) return;
    if (!this.hasRoom) {
      this.#waiting.push(message);
      this.#waitingChars += message.length;
      return;
    }
    this.link.socketMessage([this.stream], message);
    this.sent(Buffer.byteLength(message));
  }

  /** A message was sent to it, with others. */
  sent(bytes: number): void {
    this.#underWayBytes += bytes;
  }

  /** The network took so much. */
  credited(bytes: number): void {
    this.#underWayBytes = Math.max(0, this.#underWayBytes - bytes);
    let sent = 0;
    while (sent < this.#waiting.length && this.#underWayBytes < FUNCTION_SOCKET_WINDOW_BYTES) {
      const message = this.#waiting[sent++]!;
      this.#waitingChars -= message.length;
      this.link.socketMessage([this.stream], message);
      this.sent(Buffer.byteLength(message));
    }
    if (sent > 0) this.#waiting.splice(0, sent);
    assert(this.#waitingChars >= 0, 'what waits is counted once');
    if (this.hasRoom) this.#onRoom();
  }

  /** So many bytes of its messages need no room any more. */
  handled(bytes: number): void {
    if (!this.#isOpen) return;
    this.#handledBytes += bytes;
    if (this.#handledBytes < FUNCTION_SOCKET_CREDIT_BYTES) return;
    this.link.socketCredit(this.stream, this.#handledBytes);
    this.#handledBytes = 0;
  }

  close(code: number, reason: string): void {
    if (!this.#isOpen) return;
    // What waits is for a network that does not take it; a reason is short.
    this.link.closeSocket(this.stream, code, reason);
    this.closed();
  }

  /** It is gone. */
  closed(): void {
    this.#isOpen = false;
    this.#waiting = [];
    this.#waitingChars = 0;
  }
}
