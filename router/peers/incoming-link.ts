/**
 * A link of another host's router, from its hello until it closes. The connection to the worker is opened here, and the
 * worker's secret stays on its host.
 *
 *   waiting ──serve──▶ connecting ──connect──▶ linked: a pipe ──▶ closed
 *      └──moved, refuse──▶ closed      └──error: moved──▶ closed
 */
import type {Buffer} from 'node:buffer';
import type {Socket} from 'node:net';
import type {TLSSocket} from 'node:tls';
import {errorEnvelope, type ServiceError} from '../../shared/errors.ts';
import type {TenantSuspects, WorkerAddress, WorkerName} from '../../shared/ipc/control.ts';
import {FrameFlag, FrameKind, FrameWriter, IPC_VERSION} from '../../shared/ipc/frame.ts';
import {connectToWorker} from '../workers/worker-socket.ts';
import type {PeerChannel} from './channel.ts';
import {encoded, type PeerAnswer} from './messages.ts';
import {Pipe, type PipeCounts} from './pipe.ts';
import type {PeerLink} from './tenant-peers.ts';

export type IncomingEvents = {
  counts: PipeCounts;
  closed: (link: IncomingLink) => void;
};

export class IncomingLink implements PeerLink {
  readonly tenant: string;
  readonly forCode: boolean;
  readonly sinceMs = performance.now();
  worker: WorkerName | null = null;
  isCut = false;
  readonly #peer: TLSSocket;
  readonly #channel: PeerChannel;
  readonly #counts: PipeCounts;
  #toWorker: Socket | null = null;
  #pipe: Pipe | null = null;

  constructor(
    peer: TLSSocket,
    channel: PeerChannel,
    {tenant, forCode}: {tenant: string; forCode: boolean},
    {counts, closed}: IncomingEvents,
  ) {
    this.#peer = peer;
    this.#channel = channel;
    this.tenant = tenant;
    this.forCode = forCode;
    this.#counts = counts;
    peer.on('close', () => {
      if (this.#pipe === null) this.#toWorker?.destroy();
      closed(this);
    });
  }

  /** From the other router. A router that sends frames before the answer violates the protocol. */
  receive(chunk: Buffer): void {
    if (this.#pipe === null) this.#peer.destroy();
    else this.#pipe.toWorker(chunk);
  }

  serve(address: WorkerAddress): void {
    this.worker = address.worker;
    const {socket, secret, fault} = connectToWorker(address, chunk => this.#pipe!.toPeer(chunk));
    this.#toWorker = socket;
    const ended = () => {
      this.isCut ||= !this.#peer.readableEnded && !this.#peer.destroyed;
    };
    socket.on('end', ended);
    socket.on('close', ended);
    socket.on('error', () => this.moved()); // the worker is ending; the local link reports it
    socket.once('connect', () => {
      const hello = new FrameWriter(bytes => socket.write(bytes));
      hello.frame(FrameKind.hello, 0, FrameFlag.none, secret, String(IPC_VERSION));
      hello.flush();
      this.#pipe = new Pipe(this.#peer, socket, this.#counts);
      this.#peer.write(encoded({type: 'linked', worker: address.worker, runsCode: address.runsCode}));
    });
    if (fault !== null) setImmediate(() => this.moved());
  }

  get router(): object {
    return this.#channel;
  }

  moved(): void {
    this.#answer({type: 'moved'});
  }

  refuse(error: ServiceError, retryAfterS: number): void {
    this.#answer({type: 'refused', error: errorEnvelope(error).error, retryAfterS});
  }

  giveUp(why: ServiceError): void {
    const {tenant, worker} = this;
    if (worker !== null) this.#channel.send({type: 'give_up', tenant, worker, error: errorEnvelope(why).error});
  }

  suspects(state: Omit<TenantSuspects, 'tenant'>): void {
    this.#channel.send({type: 'suspects', tenant: this.tenant, ...state});
  }

  end(): void {
    this.#peer.destroy();
  }

  /** Answers, unless it has been linked, and ends the connection. */
  #answer(answer: PeerAnswer): void {
    if (this.#pipe === null && !this.#peer.destroyed) this.#peer.end(encoded(answer));
  }
}
