/**
 * The worker's end of one function socket: tracks the bytes under way to it, and the bytes of its messages that were
 * handled.
 *
 * Transitions are made only when there is capacity, so a slow reader costs one window of bytes. Responses to calls, and
 * the chunks of a long transition, are made once and wait here in order; while any of them waits there is no capacity.
 * The total that waits for all sockets is bounded.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../../../shared/assert.ts';
import type {Backlog, BufferedBytes} from '../../../../shared/byte-accounts.ts';
import {FUNCTION_SOCKET_CREDIT_BYTES} from '../../../../shared/limits.ts';
import type {SocketLink} from '../../../ipc/router-link.ts';
import {FUNCTION_SOCKET_WINDOW_BYTES} from '../../limits.ts';

const OVERLOADED = 1013;

/** `chars`: this socket's share, when others wait for the same text. */
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
  /** Characters that wait here. */
  readonly #backlog: Backlog;

  /** @param ofAll the send buffers of all sockets of this worker */
  constructor(link: SocketLink, stream: number, ofAll: BufferedBytes) {
    this.link = link;
    this.stream = stream;
    this.#backlog = ofAll.open();
    this.#onRoom = () => undefined;
  }

  /** @param callback called whenever there may be capacity again */
  whenRoom(callback: () => void): void {
    this.#onRoom = callback;
  }

  /** False once either side has closed it. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  get hasRoom(): boolean {
    return this.#isOpen && this.#waiting.length === 0 && this.#underWayBytes < FUNCTION_SOCKET_WINDOW_BYTES;
  }

  /** Characters that wait here. */
  get waitingChars(): number {
    return this.#backlog.bytes;
  }

  /**
   * Sends a message, now or after those before it. Closes the socket when too much waits; its client reconnects later.
   * @param takers number of sockets that are sent the same text
   */
  send(message: string, takers = 1): void {
    if (!this.#isOpen) return;
    if (!this.hasRoom) {
      const chars = Math.ceil(message.length / takers);
      this.#waiting.push({message, chars});
      this.#waits(chars);
      if (this.#backlog.isTooMuch) this.close(OVERLOADED, 'session.overloaded');
      return;
    }
    this.link.socketMessage([this.stream], message);
    this.sent(Buffer.byteLength(message));
  }

  /** A message was sent to it, along with other sockets. */
  sent(bytes: number): void {
    this.#underWayBytes += bytes;
  }

  /** The network took this many bytes. */
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
    if (this.hasRoom) this.#onRoom();
  }

  /** This many bytes of its messages no longer need memory. */
  handled(bytes: number): void {
    if (!this.#isOpen) return;
    this.#handledBytes += bytes;
    if (this.#handledBytes < FUNCTION_SOCKET_CREDIT_BYTES) return;
    this.link.socketCredit(this.stream, this.#handledBytes);
    this.#handledBytes = 0;
  }

  /** Its client can resume at another worker. */
  resumes(): void {
    if (this.#isOpen) this.link.socketResumes(this.stream);
  }

  close(code: number, reason: string): void {
    if (!this.#isOpen) return;
    // Drops the waiting messages, because the network does not take them; a close reason is short.
    this.link.closeSocket(this.stream, code, reason);
    this.closed();
  }

  /** The socket is gone. */
  closed(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#backlog.close();
    this.#waiting = [];
  }

  #waits(chars: number): void {
    const waitingChars = this.#backlog.bytes + chars;
    assert(waitingChars >= 0, 'what waits is counted once');
    this.#backlog.measured(waitingChars);
  }
}
