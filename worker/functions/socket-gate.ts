/**
 * Forwards function-socket events to the platform, and loads it with the first socket. Events wait in order while it
 * loads; the router bounds how many. If the load fails, the sockets are closed and their clients reconnect later.
 */
import {Buffer} from 'node:buffer';
import {asServiceError} from '../../shared/errors.ts';
import type {Resumed} from '../../shared/protocol/function-socket/server-message.ts';
import type {SocketEvents, SocketLink} from '../ipc/router-link.ts';
import type {FunctionGate} from './gate.ts';

const OVERLOADED = 1013;

export class SocketGate implements SocketEvents {
  readonly #gate: FunctionGate;
  /** Events received while the platform loads. */
  #waiting: ((sockets: SocketEvents) => void)[] = [];
  #opened: {link: SocketLink; stream: number}[] = [];
  #isLoading = false;

  constructor(gate: FunctionGate) {
    this.#gate = gate;
  }

  opened(link: SocketLink, stream: number, origin: string, resumed: Resumed | null): void {
    if (!this.#isReady) this.#opened.push({link, stream});
    this.#pass(sockets => sockets.opened(link, stream, origin, resumed));
  }

  message(link: SocketLink, stream: number, message: Buffer, isBinary: boolean): void {
    const kept = this.#isReady ? message : Buffer.from(message);
    this.#pass(sockets => sockets.message(link, stream, kept, isBinary));
  }

  credited(link: SocketLink, stream: number, bytes: number): void {
    this.#pass(sockets => sockets.credited(link, stream, bytes));
  }

  leaves(link: SocketLink, stream: number): void {
    this.#pass(sockets => sockets.leaves(link, stream));
  }

  closed(link: SocketLink, stream: number): void {
    this.#pass(sockets => sockets.closed(link, stream));
  }

  released(link: SocketLink): void {
    // Without an open socket there is nothing to release, and no reason to load the platform.
    if (this.#gate.platform !== null || this.#isLoading) this.#pass(sockets => sockets.released(link));
  }

  get #isReady(): boolean {
    return this.#gate.platform !== null && !this.#isLoading;
  }

  #pass(event: (sockets: SocketEvents) => void): void {
    const {platform} = this.#gate;
    if (platform !== null && !this.#isLoading) {
      event(platform.sync);
      return;
    }
    this.#waiting.push(event);
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#gate.loaded().then(
      loaded => {
        this.#isLoading = false;
        this.#opened = [];
        for (const waiting of this.#waiting.splice(0)) waiting(loaded.sync);
      },
      caught => {
        this.#isLoading = false;
        this.#waiting = [];
        const {code} = asServiceError(caught);
        for (const {link, stream} of this.#opened.splice(0)) link.closeSocket(stream, OVERLOADED, code);
      },
    );
  }
}
