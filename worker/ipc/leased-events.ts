/**
 * What routers send reaches the tenant only while this host has its lease. Without it, everything waits in the order of its
 * arrival: requests for LEASE_WAIT_MS, messages of sockets until the lease is back or the router has left.
 */
import {Buffer} from 'node:buffer';
import {overloaded, unavailable} from '../../shared/errors.ts';
import type {LeaseGate} from './lease-gate.ts';
import {LEASE_WAITING_BYTES_MAX, LEASE_WAITING_MAX} from './limits.ts';
import type {LinkEvents, RequestHandler, RouterLink, SocketEvents, SocketLink} from './router-link.ts';
import type {ReportedCall} from './shared-results.ts';

type Waiting = {
  readonly link: SocketLink;
  readonly bytes: number;
  readonly go: () => void;
  /** Null: it waits as long as its router is there. */
  readonly refuse: (() => void) | null;
};

export class LeasedEvents implements LinkEvents {
  readonly #events: LinkEvents;
  readonly #gate: LeaseGate;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #isAwaited = false;

  constructor(events: LinkEvents, gate: LeaseGate) {
    this.#events = events;
    this.#gate = gate;
  }

  readonly onRequest: RequestHandler = (link, stream, meta, body, incoming) => {
    if (this.#mayPass()) {
      this.#events.onRequest(link, stream, meta, body, incoming);
      return;
    }
    if (this.#waiting.length >= LEASE_WAITING_MAX || this.#bytes + body.length > LEASE_WAITING_BYTES_MAX) {
      link.fail(stream, overloaded('too many requests wait until this host knows that it owns the tenant; try again'));
      return;
    }
    const copy = Buffer.from(body);
    this.#wait({
      link,
      bytes: copy.length,
      go: () => this.#events.onRequest(link, stream, meta, copy, incoming),
      refuse: () => link.fail(stream, unavailable('this host does not know whether it owns the tenant; try again')),
    });
  };

  readonly onSubscribe = (link: RouterLink, stream: number, body: Buffer): void => {
    if (this.#mayPass()) this.#events.onSubscribe(link, stream, body);
    else {
      const copy = Buffer.from(body);
      this.#later(link, copy.length, () => this.#events.onSubscribe(link, stream, copy));
    }
  };

  readonly onUnsubscribe = (link: RouterLink, stream: number): void => {
    if (this.#isOrdered()) this.#events.onUnsubscribe(link, stream);
    else this.#later(link, 0, () => this.#events.onUnsubscribe(link, stream));
  };

  readonly onFence = (link: RouterLink, stream: number): void => {
    if (this.#mayPass()) this.#events.onFence(link, stream);
    else this.#later(link, 0, () => this.#events.onFence(link, stream));
  };

  readonly onAnswered = (calls: readonly ReportedCall[]): void => this.#events.onAnswered(calls);

  readonly onClose = (link: RouterLink): void => {
    this.#forget(link);
    this.#events.onClose(link);
  };

  readonly sockets: SocketEvents = {
    opened: (link, stream, origin, resumed) => {
      if (this.#mayPass()) this.#events.sockets.opened(link, stream, origin, resumed);
      else this.#later(link, 0, () => this.#events.sockets.opened(link, stream, origin, resumed));
    },
    message: (link, stream, message, isBinary) => {
      if (this.#mayPass()) this.#events.sockets.message(link, stream, message, isBinary);
      else {
        const copy = Buffer.from(message);
        this.#later(link, copy.length, () => this.#events.sockets.message(link, stream, copy, isBinary));
      }
    },
    credited: (link, stream, bytes) => {
      if (this.#isOrdered()) this.#events.sockets.credited(link, stream, bytes);
      else this.#later(link, 0, () => this.#events.sockets.credited(link, stream, bytes));
    },
    leaves: (link, stream) => {
      if (this.#isOrdered()) this.#events.sockets.leaves(link, stream);
      else this.#later(link, 0, () => this.#events.sockets.leaves(link, stream));
    },
    closed: (link, stream) => {
      if (this.#isOrdered()) this.#events.sockets.closed(link, stream);
      else this.#later(link, 0, () => this.#events.sockets.closed(link, stream));
    },
    released: link => {
      this.#forget(link);
      this.#events.sockets.released(link);
    },
  };

  #isOrdered(): boolean {
    return this.#waiting.length === 0;
  }

  #mayPass(): boolean {
    return this.#isOrdered() && this.#gate.holds();
  }

  /** Routers send no more than the credit of their sockets and subscriptions, so this is bounded by them. */
  #later(link: SocketLink, bytes: number, go: () => void): void {
    this.#wait({link, bytes, go, refuse: null});
  }

  #wait(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#bytes += waiting.bytes;
    if (!this.#isAwaited) this.#await();
  }

  #await(): void {
    this.#isAwaited = true;
    this.#gate.whenRenewed(holds => {
      this.#isAwaited = false;
      if (holds) this.#run();
      else this.#refuse();
      if (this.#waiting.length > 0) this.#await();
    });
  }

  #run(): void {
    let done = 0;
    // What arrives meanwhile is behind it.
    while (done < this.#waiting.length && this.#gate.holds()) this.#waiting[done++]!.go();
    this.#keep(this.#waiting.slice(done));
  }

  #refuse(): void {
    const refused = this.#waiting.filter(({refuse}) => refuse !== null);
    this.#keep(this.#waiting.filter(({refuse}) => refuse === null));
    for (const {refuse} of refused) refuse?.();
  }

  #forget(link: SocketLink): void {
    if (this.#waiting.length > 0) this.#keep(this.#waiting.filter(waiting => waiting.link !== link));
  }

  #keep(waiting: Waiting[]): void {
    this.#waiting = waiting;
    this.#bytes = waiting.reduce((sum, {bytes}) => sum + bytes, 0);
  }
}
