/**
 * An open channel between routers of two hosts, the same at both ends. Each end sends a sign every second. An end that
 * has received nothing for some seconds closes the channel, and so ends the links that depend on it: a host that is cut
 * off or stopped closes no connection by itself.
 */
import type {Buffer} from 'node:buffer';
import type {TLSSocket} from 'node:tls';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {PEER_MESSAGE_BYTES_MAX, PEER_SIGN_MS, PEER_SILENT_SIGNS, PEER_UNSENT_BYTES_MAX} from '../limits.ts';
import {encoded, MessageReader, messageIn, type PeerMessage} from './messages.ts';

export type ChannelEvents = {
  received: (message: Exclude<PeerMessage, {type: 'sign'}>) => void;
  /** Called once. @param why for the log */
  closed: (why: string) => void;
  /** A sign was sent. */
  sign?: () => void;
};

export class PeerChannel {
  readonly #socket: TLSSocket;
  readonly #events: ChannelEvents;
  readonly #reader = new MessageReader(PEER_MESSAGE_BYTES_MAX);
  readonly #timer: NodeJS.Timeout;
  /** Signs sent since anything was received. They are counted, not timed, so a pause of this process is none of the other's. */
  #unanswered = 0;
  #isClosed = false;

  /** The owner reads the socket, and passes on what it receives. */
  constructor(socket: TLSSocket, events: ChannelEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#timer = setInterval(() => this.#sign(), PEER_SIGN_MS);
    socket.on('error', error => this.end(error.message));
    socket.on('close', () => this.end('it was closed'));
  }

  receive(chunk: Buffer): void {
    this.#unanswered = 0;
    try {
      this.#reader.push(chunk);
      for (let next = this.#reader.next(); next !== null && !this.#isClosed; next = this.#reader.next()) {
        const message = messageIn(next);
        if (message.type !== 'sign') this.#events.received(message);
      }
    } catch (caught) {
      if (!(caught instanceof MalformedFrame)) throw caught;
      this.end(caught.message);
    }
  }

  send(message: PeerMessage): void {
    if (this.#isClosed) return;
    this.#socket.write(encoded(message));
    if (this.#socket.writableLength > PEER_UNSENT_BYTES_MAX) this.end('its messages are not taken');
  }

  end(why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#socket.destroy();
    this.#events.closed(why);
  }

  #sign(): void {
    if (this.#unanswered >= PEER_SILENT_SIGNS) {
      this.end(`nothing was received for ${PEER_SILENT_SIGNS} s`);
      return;
    }
    this.#unanswered++;
    this.send({type: 'sign'});
    this.#events.sign?.();
  }
}
