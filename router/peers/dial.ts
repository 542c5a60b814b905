/** A connection to the peer port of another host until its hello is answered. Then it is taken over, or closed. */
import type {Buffer} from 'node:buffer';
import type {OnReadOpts} from 'node:net';
import {type ConnectionOptions, connect, type TLSSocket} from 'node:tls';
import {assert} from '../../shared/assert.ts';
import type {PeerSettings} from '../../shared/ipc/control.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {PEER_HELLO_MS, PEER_MESSAGE_BYTES_MAX} from '../limits.ts';
import {onRead} from '../workers/read-buffer.ts';
import {answerIn, encoded, MessageReader, type PeerAnswer, type PeerHello} from './messages.ts';

/** Where a host listens, and as which name it has to show itself. `session`: of an earlier connection; null: none. */
export type Target = {host: string; address: string; session: Buffer | null};

export type DialEvents = {
  /** Called once, unless the dial was abandoned. Without `takeOver` during the call, the connection closes. */
  answered: (answer: PeerAnswer) => void;
  /** Called once instead: the host was not reached, or is not the one that was expected. */
  failed: (why: string) => void;
  session: (session: Buffer) => void;
};

export class Dial {
  readonly #socket: TLSSocket;
  readonly #events: DialEvents;
  readonly #reader = new MessageReader(PEER_MESSAGE_BYTES_MAX);
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #received: ((chunk: Buffer) => void) | null = null;

  constructor({host, address, session}: Target, settings: PeerSettings, hello: PeerHello, events: DialEvents) {
    this.#events = events;
    const {ca, certificate, key} = settings;
    const at = addressIn(address);
    const options: ConnectionOptions & {onread: OnReadOpts} = {
      ...at,
      ...{ca, cert: certificate, key, minVersion: 'TLSv1.3', servername: host},
      ...(session === null ? {} : {session}),
      onread: onRead(chunk => this.#read(chunk)), // documented, but not declared
    };
    this.#socket = connect(options);
    this.#socket.setNoDelay(true);
    this.#timer = setTimeout(() => this.#fail('it did not answer in time'), PEER_HELLO_MS);
    this.#socket.once('secureConnect', () => {
      if (hello.type === 'link') clearTimeout(this.#timer); // its worker may have to start; the channel watches the host
      this.#socket.write(encoded(hello));
    });
    this.#socket.on('session', events.session);
    this.#socket.on('error', error => this.#fail(error.message));
    this.#socket.on('close', () => this.#fail('it closed the connection'));
  }

  /** @param received gets what the host sends after its answer; the bytes are valid during the call */
  takeOver(received: (chunk: Buffer) => void): TLSSocket {
    assert(this.#received === null, 'a connection is taken over once');
    this.#received = received;
    return this.#socket;
  }

  abandon(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#received !== null) {
      this.#received(chunk);
      return;
    }
    if (this.#isOver) return;
    try {
      this.#reader.push(chunk);
      const message = this.#reader.next();
      if (message === null) return;
      const answer = answerIn(message);
      this.#isOver = true;
      this.#events.answered(answer);
    } catch (caught) {
      if (!(caught instanceof MalformedFrame)) throw caught;
      this.#fail(caught.message);
      return;
    }
    const received = this.#received as ((chunk: Buffer) => void) | null;
    if (received === null) this.#socket.destroy();
    else if (this.#reader.rest.length > 0) received(this.#reader.rest);
  }

  #fail(why: string): void {
    if (this.#isOver) return;
    this.abandon();
    this.#events.failed(why);
  }
}

/** @param address `host:port` or `[host]:port`, checked */
function addressIn(address: string): {host: string; port: number} {
  const colon = address.lastIndexOf(':');
  return {host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1))};
}
