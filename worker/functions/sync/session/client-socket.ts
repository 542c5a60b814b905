/**
 * The worker's end of one function socket: what is under way to it, and what has been handled of what it said.
 *
 * Transitions are made only when there is room, so a slow reader costs a window of bytes. Answers to calls, and the pieces of a long
 * transition, are made once and wait here in order; while any waits there is no room. All sockets together may make no more wait than there is
 * memory for.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../../../shared/assert.ts';
import {FUNCTION_SOCKET_CREDIT_BYTES} from '../../../../shared/limits.ts';
import type {OwedBytes} from '../../../../shared/owed-bytes.ts';
import type {SocketLink} from '../../../ipc/router-link.ts';
import {FUNCTION_SOCKET_WINDOW_BYTES} from '../../limits.ts';

const OVERLOADED = 1013;

/** `chars`: its own part of them, where others wait for the same text. */
type Waiting = {message: string; chars: number};

export class ClientSocket {
  readonly link: SocketLink;
  readonly stream: number;
  #onRoom: () => void;
  #isOpen = true;
  #underWayBytes = 0;
  #handledBytes = 0;
  /** Messages that wait for the network, in order. */
  #waiting: Waiting[] = [];
  #waitingChars = 0;
  readonly #ofAll: OwedBytes;

  /** @param ofAll what waits for all sockets of this worker */
  constructor(link: SocketLink, stream: number, ofAll: OwedBytes) {
    this.link = link;
    this.stream = stream;
    this.#ofAll = ofAll;
    ofAll.opened();
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

  /**
   * Sends a message, now or when those before it have left. Closes the socket when too much waits: its client comes again, later.
   * @param takers how many are sent the same text
   */
  send(message: string, takers = 1): void {
    if (!this.#isOpen) return;
    if (!this.hasRoom) {
      const chars = Math.ceil(message.length / takers);
      this.#waiting.push({message, chars});
      this.#waits(chars);
      if (this.#ofAll.isTooMuch(this.#waitingChars)) this.close(OVERLOADED, 'session.overloaded');
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
      const {message, chars} = this.#waiting[sent++]!;
      this.#waits(-chars);
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
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#ofAll.closed(this.#waitingChars);
    this.#waiting = [];
    this.#waitingChars = 0;
  }

  #waits(chars: number): void {
    this.#waitingChars += chars;
    this.#ofAll.changed(chars);
  }
}
