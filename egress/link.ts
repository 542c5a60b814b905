/**
 * An egress client's connection ("link"), from a thread or process of a worker: reads requests and writes answers. It
 * buffers nothing for a client that does not read: the next request is read once the previous answers have been taken.
 * When the link ends, all its connections end.
 */

import type {Socket} from 'node:net';
import {isIP} from 'node:net';
import type {EgressAnswer, EgressQuestion} from '../shared/ipc/egress.ts';
import type {EgressMetrics} from '../shared/metrics/egress-metrics.ts';
import {objectIn} from '../shared/values/shapes.ts';
import {EGRESS_HELLO_MS_MAX, EGRESS_LINE_BYTES_MAX} from './limits.ts';
import {failureOf, Outgoing} from './outgoing.ts';
import type {EgressPolicy} from './policy.ts';

/** Look-ups are checked against the policy as if for a connection to this port. */
const LOOKUP_PORT = 443;

/** The part of the door that a link uses. */
type Entry = {
  readonly parts: {readonly metrics: EgressMetrics};
  readonly policy: EgressPolicy;
  /** The door's directory for data connections. */
  readonly directory: string;
  isSecret(said: string): boolean;
  /** Reserves one of the tenant's connections. @returns why the reservation is refused; null: it succeeded */
  opened(): string | null;
  closed(): void;
  questionAfterMs(): number;
};

export class Link {
  readonly #socket: Socket;
  readonly #endpoint: Entry;
  readonly #connections = new Map<number, Outgoing>();
  readonly #lookups = new Set<AbortController>();
  readonly #late: NodeJS.Timeout;
  #pauseTimer: NodeJS.Timeout | null = null;
  #isKnown = false;
  #text = '';

  constructor(socket: Socket, endpoint: Entry, onEnd: () => void) {
    this.#socket = socket;
    this.#endpoint = endpoint;
    this.#late = setTimeout(() => this.end(), EGRESS_HELLO_MS_MAX);
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => this.#received(chunk));
    socket.on('drain', () => this.#goOn());
    socket.on('error', () => this.end());
    socket.on('close', () => {
      clearTimeout(this.#late);
      if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
      for (const connection of this.#connections.values()) connection.end();
      for (const lookup of this.#lookups) lookup.abort();
      onEnd();
    });
  }

  endConnections(): void {
    for (const connection of this.#connections.values()) connection.break(ENDED);
  }

  end(): void {
    this.#socket.destroy();
  }

  #received(chunk: string): void {
    this.#text += chunk;
    this.#take();
    if (this.#text.length > EGRESS_LINE_BYTES_MAX && !this.#text.includes('\n')) this.end();
  }

  #goOn(): void {
    if (this.#pauseTimer === null) {
      this.#take();
      if (!this.#isPaused) this.#socket.resume();
    }
  }

  get #isPaused(): boolean {
    return this.#pauseTimer !== null || this.#socket.writableNeedDrain;
  }

  #take(): void {
    for (;;) {
      if (this.#isPaused) {
        this.#socket.pause();
        return;
      }
      const at = this.#text.indexOf('\n');
      if (at === -1 || this.#socket.destroyed) return;
      if (this.#isKnown) {
        const waitMs = this.#endpoint.questionAfterMs();
        if (waitMs > 0) {
          this.#pauseTimer = setTimeout(() => {
            this.#pauseTimer = null;
            this.#goOn();
          }, waitMs);
          continue;
        }
      }
      const line = Buffer.from(this.#text.slice(0, at), 'latin1').toString();
      this.#text = this.#text.slice(at + 1);
      if (this.#isKnown) this.#ask(line);
      else this.#greeted(line);
    }
  }

  #greeted(line: string): void {
    const secret = objectIn(line)?.secret;
    if (typeof secret !== 'string' || !this.#endpoint.isSecret(secret)) {
      this.end();
      return;
    }
    this.#isKnown = true;
    clearTimeout(this.#late);
  }

  #ask(line: string): void {
    const question = questionIn(line);
    if (question === null || (question.type !== 'drop' && this.#connections.has(question.id))) {
      this.end(); // Our own client code never sends this.
      return;
    }
    if (question.type === 'drop') this.#connections.get(question.id)?.drop();
    else if (question.type === 'lookup') void this.#lookUp(question);
    else this.#connect(question);
  }

  async #lookUp({id, host}: EgressQuestion & {type: 'lookup'}): Promise<void> {
    if (!this.#isRoom(id)) return;
    const lookup = new AbortController();
    this.#lookups.add(lookup);
    try {
      const addresses = await this.#endpoint.policy.addresses(host, LOOKUP_PORT, lookup.signal);
      this.#answer({type: 'addresses', id, addresses});
    } catch (caught) {
      this.#answer({type: 'failed', id, error: failureOf(caught)});
    } finally {
      this.#lookups.delete(lookup);
      this.#endpoint.closed();
    }
  }

  #isRoom(id: number): boolean {
    const busy = this.#endpoint.opened();
    if (busy === null) return true;
    this.#endpoint.parts.metrics.count('svc_egress_connections_total', {outcome: 'busy'});
    this.#answer({type: 'failed', id, error: {refused: false, message: busy, code: 'EMFILE', syscall: 'connect'}});
    return false;
  }

  #connect({id, host, port, family}: EgressQuestion & {type: 'connect'}): void {
    const endpoint = this.#endpoint;
    const {metrics} = endpoint.parts;
    if (!this.#isRoom(id)) return;
    const addresses = async (signal: AbortSignal) => {
      const found = await endpoint.policy.addresses(host, port, signal);
      const ofFamily = found.filter(address => family === 0 || isIP(address) === family);
      if (ofFamily.length === 0) throw noAddress(host);
      return ofFamily;
    };
    const connection = new Outgoing(
      {host, port, addresses, directory: endpoint.directory},
      {
        open: (path, address, at) => {
          metrics.count('svc_egress_connections_total', {outcome: 'opened'});
          this.#answer({type: 'open', id, path, address, port: at});
        },
        failed: error => {
          metrics.count('svc_egress_connections_total', {outcome: error.refused ? 'refused' : 'failed'});
          this.#answer({type: 'failed', id, error});
        },
        ended: () => this.#answer({type: 'ended', id}),
        broken: error => this.#answer({type: 'broken', id, error}),
        relayed: (received, sent) => {
          metrics.add('svc_egress_bytes_total', received, {direction: 'in'});
          metrics.add('svc_egress_bytes_total', sent, {direction: 'out'});
        },
        over: () => {
          this.#connections.delete(id);
          endpoint.closed();
        },
      },
    );
    this.#connections.set(id, connection);
  }

  #answer(answer: EgressAnswer): void {
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(answer)}\n`);
  }
}

const ENDED = {
  refused: false,
  message: 'The connection was ended: the egress policy changed',
  code: 'ECONNABORTED',
  syscall: 'read',
};

function noAddress(host: string): Error {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), {code: 'ENOTFOUND', syscall: 'getaddrinfo'});
}

function questionIn(line: string): EgressQuestion | null {
  const {type, id, host, port, family} = objectIn(line) ?? {};
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) return null;
  if (type === 'drop') return {type, id};
  if (typeof host !== 'string') return null;
  if (type === 'lookup') return {type, id, host};
  if (type !== 'connect' || !isPort(port) || (family !== 0 && family !== 4 && family !== 6)) return null;
  return {type, id, host, port, family};
}

function isPort(port: unknown): port is number {
  return typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535;
}
