/**
 * One connection of a tenant to the outside. It connects to an address that the policy allows, waits for its client at
 * a path that other tenants' users cannot reach, and then relays bytes both ways, buffering only what the slower side
 * allows.
 *
 *   connecting ──open──▶ unclaimed ──client comes──▶ relaying ──both sides have ended──▶ over
 *       └ failed            └ no client comes, or the far side breaks off: broken ──client drops it──▶ over
 *
 * A data connection that broke off stays open until its client knows that it broke off (see shared/ipc/egress.ts).
 */
import {randomBytes} from 'node:crypto';
import {connect, createServer, isIP, type LookupFunction, type Server, type Socket} from 'node:net';
import {join} from 'node:path';
import {EgressRefused} from '../shared/egress/refused.ts';
import type {EgressFailure} from '../shared/ipc/egress.ts';
import {EGRESS_CLAIM_MS_MAX, EGRESS_CONNECT_TIMEOUT_MS, EGRESS_PATH_CHARS} from '../shared/limits.ts';
import {EGRESS_IDLE_MS_MAX, EGRESS_WINDOW_BYTES} from './limits.ts';

export type OutgoingEvents = {
  open(path: string, address: string, port: number): void;
  failed(error: EgressFailure): void;
  /** The remote side has ended its stream; the client is about to see the end. */
  ended(): void;
  broken(error: EgressFailure): void;
  /** Bytes received from the remote side, and bytes sent to it. */
  relayed(received: number, sent: number): void;
  /** Called once. */
  over(): void;
};

export type OutgoingParts = {
  host: string;
  port: number;
  /** Allowed addresses. @throws EgressRefused, or the error of the look-up */
  addresses: (signal: AbortSignal) => Promise<string[]>;
  /** Where paths for data connections are created. */
  directory: string;
};

/** Interval of TCP keep-alive probes, by which each side notices that the other one is alive. */
const KEEP_ALIVE_MS = 60_000;

export class Outgoing {
  readonly #parts: OutgoingParts;
  readonly #events: OutgoingEvents;
  readonly #lookup = new AbortController();
  #far: Socket | null = null;
  #near: Socket | null = null;
  #entrance: Server | null = null;
  #timer: NodeJS.Timeout;
  #isBroken = false;
  #isDropped = false;
  #isOver = false;

  constructor(parts: OutgoingParts, events: OutgoingEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#timer = setTimeout(() => this.#fail(timedOut(parts)), EGRESS_CONNECT_TIMEOUT_MS);
    void this.#connect();
  }

  /** The client has closed the connection: bytes that it sent before are still sent out. */
  drop(): void {
    this.#isDropped = true;
    const far = this.#far;
    if (this.#near === null || far === null || this.#isBroken || far.writableFinished) this.end();
    else far.once('finish', () => this.end());
  }

  /** Closes at once. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#lookup.abort();
    clearTimeout(this.#timer);
    this.#entrance?.close();
    this.#near?.destroy();
    this.#far?.destroy();
    if (this.#near !== null && this.#far !== null) this.#events.relayed(this.#far.bytesRead, this.#far.bytesWritten);
    this.#events.over();
  }

  async #connect(): Promise<void> {
    let addresses: string[];
    try {
      addresses = await this.#parts.addresses(this.#lookup.signal);
    } catch (caught) {
      this.#fail(failureOf(caught));
      return;
    }
    if (this.#isOver) return;
    const {port} = this.#parts;
    const options = {
      host: addresses.length === 1 ? addresses[0]! : this.#parts.host,
      port,
      lookup: among(addresses),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      allowHalfOpen: true,
      highWaterMark: EGRESS_WINDOW_BYTES,
    };
    const far = connect(options);
    this.#far = far;
    far.once('connect', () => this.#connected(far));
    far.on('error', error => {
      if (this.#entrance === null) this.#fail(failureOf(error));
      else this.break(failureOf(error));
    });
    far.setTimeout(EGRESS_IDLE_MS_MAX, () => this.break(timedOut(this.#parts)));
  }

  #connected(far: Socket): void {
    const path = join(this.#parts.directory, randomBytes((EGRESS_PATH_CHARS * 3) / 4).toString('base64url'));
    const entrance = createServer({allowHalfOpen: true, pauseOnConnect: true, highWaterMark: EGRESS_WINDOW_BYTES});
    this.#entrance = entrance;
    entrance.maxConnections = 1;
    // The system's message would disclose a path of the server.
    entrance.once('error', () => this.#fail(NO_PATH));
    entrance.once('connection', near => {
      entrance.close();
      this.#relay(near, far);
    });
    // The tenant's worker may run as a user of its own.
    entrance.listen({path, writableAll: true, readableAll: true}, () => {
      if (this.#isOver || this.#isBroken) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.end(), EGRESS_CLAIM_MS_MAX);
      this.#events.open(path, far.remoteAddress ?? '', this.#parts.port);
    });
  }

  #relay(near: Socket, far: Socket): void {
    clearTimeout(this.#timer);
    if (this.#isOver || this.#isBroken) {
      near.destroy();
      return;
    }
    this.#near = near;
    near.on('error', () => undefined); // The client is gone; `close` follows.
    near.on('close', () => {
      far.end();
      this.drop();
    });
    far.once('end', () => this.#events.ended()); // before the pipe ends the other side
    near.pipe(far);
    far.pipe(near);
    const ended = () => {
      if (near.readableEnded && far.readableEnded && near.writableFinished && far.writableFinished) this.end();
    };
    for (const socket of [near, far]) socket.on('end', ended).on('finish', ended);
  }

  #fail(error: EgressFailure): void {
    if (this.#isOver) return;
    if (!this.#isDropped) this.#events.failed(error);
    this.end();
  }

  /** Breaks the connection off and reports the error to the client. */
  break(error: EgressFailure): void {
    if (this.#isOver || this.#isBroken) return;
    if (this.#entrance === null || this.#isDropped) {
      this.#fail(error);
      return;
    }
    this.#isBroken = true;
    this.#far?.destroy();
    this.#entrance?.close();
    this.#events.broken(error);
    clearTimeout(this.#timer);
    // The client confirms with `drop`; this bounds the wait for it.
    this.#timer = setTimeout(() => this.end(), EGRESS_CLAIM_MS_MAX);
  }
}

/** Connects to the checked addresses only: no name is resolved again. */
function among(addresses: readonly string[]): LookupFunction {
  const found = addresses.map(address => ({address, family: isIP(address)}));
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, found);
    else callback(null, found[0]!.address, found[0]!.family);
  };
}

const NO_PATH: EgressFailure = {
  refused: false,
  message: 'The server cannot hand over the connection; try again',
  code: 'ECONNABORTED',
  syscall: 'connect',
};

function timedOut({host, port}: OutgoingParts): EgressFailure {
  return {refused: false, message: `connect ETIMEDOUT ${host}:${port}`, code: 'ETIMEDOUT', syscall: 'connect'};
}

/** If all addresses failed, the error is an AggregateError; its first member is reported. */
export function failureOf(caught: unknown): EgressFailure {
  const error = caught instanceof AggregateError ? (caught.errors[0] as unknown) : caught;
  if (error instanceof EgressRefused) return {refused: true, message: error.message, code: null, syscall: null};
  const {message, code, syscall} = error as NodeJS.ErrnoException;
  return {
    refused: false,
    message: message || (code ?? 'the connection failed'),
    code: code ?? null,
    syscall: syscall ?? null,
  };
}
