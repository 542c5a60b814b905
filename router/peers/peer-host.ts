/**
 * Another host of the cluster, as a router of this one reaches it: a channel, and a connection for each of its tenants.
 *
 *   connecting ──open──▶ open ──closed, silent──▶ closed: all its links are cut
 *       └──refused, lost──▶ closed, and so are all that wait        └──idle──▶ closed
 *
 * The certificate of the other host must have its name. TLS sessions are resumed, so only the first connection pays for
 * the signatures.
 */
import type {Buffer} from 'node:buffer';
import type {TLSSocket} from 'node:tls';
import {assert} from '../../shared/assert.ts';
import {type ErrorObject, ServiceError} from '../../shared/errors.ts';
import type {PeerSettings, RemoteAddress, TenantSuspects, WorkerName} from '../../shared/ipc/control.ts';
import {IPC_VERSION} from '../../shared/ipc/frame.ts';
import type {Logger} from '../../shared/log.ts';
import {PEER_IDLE_SIGNS} from '../limits.ts';
import type {LinkedWorker, LinkReports} from '../workers/forwarded.ts';
import type {Connect} from '../workers/worker-socket.ts';
import {PeerChannel} from './channel.ts';
import {Dial} from './dial.ts';
import {
  PEER_VERSION,
  type PeerAnswer,
  type PeerHello,
  type PeerMessage,
  type PeerReport,
  reportable,
} from './messages.ts';

export type LinkOutcome =
  | {type: 'linked'; end: LinkedWorker; connect: Connect; reports: LinkReports}
  | {type: 'moved'}
  | {type: 'refused'; error: ServiceError; retryAfterS: number}
  /** The host was not reached. */
  | {type: 'lost'};

export type HostEvents = {
  /** These calls are to be refused. */
  suspects: (state: TenantSuspects) => void;
  /** The worker is to get nothing more, and its link ends once everything is answered. */
  giveUp: (tenant: string, worker: WorkerName, why: ServiceError) => void;
  dialled: (outcome: LinkOutcome['type']) => void;
  /** There is no channel any more, and no link. */
  closed: () => void;
};

type Address = Pick<RemoteAddress, 'host' | 'address'>;

/** A link that is wanted. */
export class LinkDial {
  readonly tenant: string;
  readonly forCode: boolean;
  /** The worker was given up before the answer that names it: they come over different connections. */
  readonly #givenUp = new Set<WorkerName>();
  #done: ((outcome: LinkOutcome) => void) | null;
  dial: Dial | null = null;
  /** Set by the host that is dialled, which does not hear of it otherwise. */
  onAbandoned: () => void = () => undefined;

  constructor(tenant: string, forCode: boolean, done: (outcome: LinkOutcome) => void) {
    this.tenant = tenant;
    this.forCode = forCode;
    this.#done = done;
  }

  get isOver(): boolean {
    return this.#done === null;
  }

  giveUp(worker: WorkerName): void {
    this.#givenUp.add(worker);
  }

  isGivenUp(worker: WorkerName): boolean {
    return this.#givenUp.has(worker);
  }

  abandon(): void {
    this.#done = null;
    this.dial?.abandon();
    this.onAbandoned();
  }

  settle(outcome: LinkOutcome): void {
    const done = this.#done;
    this.#done = null;
    done?.(outcome);
  }
}

export class PeerHost {
  readonly #at: Address;
  readonly #router: string;
  readonly #settings: PeerSettings;
  readonly #log: Logger;
  readonly #events: HostEvents;
  readonly #dials = new Set<LinkDial>();
  readonly #links = new Set<TLSSocket>();
  #session: Buffer | null = null;
  #channel: PeerChannel | null = null;
  #idleSigns = 0;
  #isClosed = false;

  /** @param router the id of this process */
  constructor(at: Address, router: string, settings: PeerSettings, log: Logger, events: HostEvents) {
    this.#at = at;
    this.#router = router;
    this.#settings = settings;
    this.#log = log;
    this.#events = events;
    const dial = this.#dial(
      {type: 'channel', version: PEER_VERSION, router},
      {
        answered: answer => this.#answered(dial, answer),
        failed: why => this.#close(why, {type: 'lost'}),
      },
    );
  }

  get links(): number {
    return this.#links.size;
  }

  link(wanted: LinkDial): void {
    assert(!this.#isClosed, 'a closed host is not dialled');
    this.#dials.add(wanted);
    wanted.onAbandoned = () => this.#dials.delete(wanted);
    if (this.#channel !== null) this.#dialLink(wanted);
  }

  #dial(hello: PeerHello, events: Pick<ConstructorParameters<typeof Dial>[3], 'answered' | 'failed'>): Dial {
    const session = (fresh: Buffer) => {
      this.#session = fresh;
    };
    return new Dial({...this.#at, session: this.#session}, this.#settings, hello, {...events, session});
  }

  #answered(dial: Dial, answer: PeerAnswer): void {
    if (answer.type !== 'open') {
      const refused: LinkOutcome =
        answer.type === 'refused' ? {...answer, error: errorIn(answer.error)} : {type: 'lost'};
      this.#close('it refused a channel', refused);
      return;
    }
    const socket = dial.takeOver(chunk => this.#channel!.receive(chunk));
    this.#channel = new PeerChannel(socket, {
      received: message => this.#received(message),
      closed: why => this.#close(why, {type: 'lost'}),
      sign: () => this.#sign(),
    });
    for (const wanted of this.#dials) this.#dialLink(wanted);
  }

  #dialLink(wanted: LinkDial): void {
    const {tenant, forCode} = wanted;
    const dial = this.#dial(
      {type: 'link', version: PEER_VERSION, router: this.#router, ipc: IPC_VERSION, tenant, forCode},
      {
        answered: answer => this.#linkAnswered(wanted, dial, answer),
        failed: why => {
          this.#log.debug('a host was not reached', {host: this.#at.host, tenant, reason: why});
          this.#settle(wanted, {type: 'lost'});
        },
      },
    );
    wanted.dial = dial;
  }

  #linkAnswered(wanted: LinkDial, dial: Dial, answer: PeerAnswer): void {
    switch (answer.type) {
      case 'linked': {
        const {worker, runsCode} = answer;
        if (wanted.isGivenUp(worker)) this.#settle(wanted, {type: 'moved'});
        else {
          const connect: Connect = received => ({
            socket: this.#keep(dial.takeOver(received)),
            secret: null,
            fault: null,
          });
          const {tenant} = wanted;
          const reports = this.#reports(tenant, worker);
          this.#settle(wanted, {type: 'linked', end: {tenant, worker, runsCode}, connect, reports});
        }
        return;
      }
      case 'refused':
        this.#settle(wanted, {...answer, error: errorIn(answer.error)});
        return;
      case 'moved':
        this.#settle(wanted, answer);
        return;
      case 'open':
        this.#settle(wanted, {type: 'lost'});
    }
  }

  #settle(wanted: LinkDial, outcome: LinkOutcome): void {
    this.#dials.delete(wanted);
    if (wanted.isOver) return;
    this.#events.dialled(outcome.type);
    wanted.settle(outcome);
  }

  #keep(socket: TLSSocket): TLSSocket {
    this.#links.add(socket);
    socket.once('close', () => this.#links.delete(socket));
    return socket;
  }

  #received(message: Exclude<PeerMessage, {type: 'sign'}>): void {
    switch (message.type) {
      case 'give_up':
        this.#giveUp(message.tenant, message.worker, errorIn(message.error));
        return;
      case 'suspects':
        this.#events.suspects(message);
        return;
      default:
        this.#channel!.end(`the host of a worker does not send ${message.type}`);
    }
  }

  #reports(tenant: string, worker: WorkerName): LinkReports {
    const send = (report: PeerReport) => this.#channel?.send(report);
    return {
      lost: calls => send({type: 'lost', tenant, worker, calls: reportable(calls)}),
      malformed: why => send({type: 'malformed', tenant, worker, why}),
      answered: key => send({type: 'answered', tenant, key}),
    };
  }

  #giveUp(tenant: string, worker: WorkerName, why: ServiceError): void {
    for (const wanted of this.#dials) if (wanted.tenant === tenant) wanted.giveUp(worker);
    this.#events.giveUp(tenant, worker, why);
  }

  #sign(): void {
    this.#idleSigns = this.#links.size === 0 && this.#dials.size === 0 ? this.#idleSigns + 1 : 0;
    if (this.#idleSigns >= PEER_IDLE_SIGNS) this.#channel!.end('no tenant of the host is used');
  }

  #close(why: string, outcome: LinkOutcome): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#log.info('a host is not connected', {host: this.#at.host, links: this.#links.size, reason: why});
    this.#events.closed();
    for (const wanted of [...this.#dials]) {
      wanted.dial?.abandon();
      this.#settle(wanted, outcome);
    }
    for (const socket of this.#links) socket.destroy();
  }
}

function errorIn({code, message, detail}: ErrorObject): ServiceError {
  return new ServiceError(code, message, detail);
}
