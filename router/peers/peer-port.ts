/**
 * The port at which routers of other hosts of the cluster connect. TLS 1.3 requires a certificate of the cluster's own
 * CA. A host with one is trusted with all tenants; a connection without one sends and receives nothing.
 *
 *   connected ──handshake──▶ greeted by a hello ──▶ channel
 *       └──too slow, too long, no certificate──▶ closed   └──▶ link, if there is a channel of its router
 *
 * Only the first router of a host listens: the channel of a router and its links have to be in one process, and the
 * kernel would divide them among all routers that listen.
 */
import type {Buffer} from 'node:buffer';
import type {AddressInfo, Socket} from 'node:net';
import {createServer, type Server, type TLSSocket} from 'node:tls';
import {errorEnvelope, overloaded, type ServiceError, unavailable} from '../../shared/errors.ts';
import type {PeerSettings} from '../../shared/ipc/control.ts';
import {IPC_VERSION, MalformedFrame} from '../../shared/ipc/frame.ts';
import type {Logger} from '../../shared/log.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {PEER_CHANNELS_MAX, PEER_HELLO_BYTES_MAX, PEER_HELLO_MS, PEER_HELLOS_MAX, PEER_LINKS_MAX} from '../limits.ts';
import {PeerChannel} from './channel.ts';
import {IncomingLink} from './incoming-link.ts';
import {encoded, helloIn, MessageReader, PEER_VERSION, type PeerHello, type PeerReport} from './messages.ts';
import type {PipeCounts} from './pipe.ts';

export type PeerPortParts = {
  settings: PeerSettings;
  log: Logger;
  metrics: RouterMetrics;
  /** The link needs a worker of its tenant. */
  arrived: (link: IncomingLink) => void;
  closed: (link: IncomingLink) => void;
  /** A router of another host reports about a worker of this one. @param router as its links have it */
  reported: (router: object, report: PeerReport) => void;
};

/** A router of another host. */
type Router = {channel: PeerChannel; links: Set<IncomingLink>};

export class PeerPort {
  readonly #parts: PeerPortParts;
  readonly #server: Server;
  readonly #routers = new Map<string, Router>();
  /** Connections without a hello, by the address and port of the other end. */
  readonly #silent = new Set<string>();
  #links = 0;
  /** Null: it is not drained. */
  #onIdle: (() => void) | null = null;
  readonly #counts: PipeCounts;

  /** @returns null if the port is not available */
  static async listen(parts: PeerPortParts): Promise<PeerPort | null> {
    const port = new PeerPort(parts);
    const {host, port: number} = parts.settings.listen;
    return await new Promise(resolve => {
      port.#server.once('error', error => {
        parts.log.error('the peer port is not available', {error});
        resolve(null);
      });
      port.#server.listen(number, host, () => resolve(port));
    });
  }

  private constructor(parts: PeerPortParts) {
    this.#parts = parts;
    const {ca, certificate, key} = parts.settings;
    this.#server = createServer({
      ...{ca, cert: certificate, key, minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: true},
      handshakeTimeout: PEER_HELLO_MS,
      noDelay: true,
    });
    this.#server.maxConnections = PEER_HELLOS_MAX + PEER_CHANNELS_MAX + PEER_LINKS_MAX;
    this.#server.on('connection', socket => this.#connected(socket));
    this.#server.on('tlsClientError', (error, socket) => {
      parts.metrics.count('svc_peer_refused_total');
      parts.log.warn('a connection to the peer port was refused', {from: socket.remoteAddress, reason: error.message});
    });
    this.#server.on('secureConnection', socket => this.#secured(socket));
    const {metrics} = parts;
    this.#counts = {
      in: metrics.series('svc_peer_bytes_total', {direction: 'in'}),
      out: metrics.series('svc_peer_bytes_total', {direction: 'out'}),
    };
    metrics.measure('svc_peer_incoming_routers', () => this.#routers.size);
    metrics.measure('svc_peer_incoming_links', () => this.#links);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Accepts no more connections; existing ones stay. */
  stopAccepting(): void {
    this.#server.close();
  }

  /**
   * Requests the routers of other hosts to end their links once everything is answered.
   * @param idle called once there are none
   */
  drain(why: ServiceError, idle: () => void): void {
    this.#onIdle = idle;
    for (const {links} of this.#routers.values()) for (const link of links) link.giveUp(why);
    if (this.#links === 0) idle();
  }

  #connected(socket: Socket): void {
    if (this.#silent.size >= PEER_HELLOS_MAX) {
      socket.destroy();
      return;
    }
    const name = nameOf(socket);
    this.#silent.add(name);
    socket.on('close', () => this.#silent.delete(name));
  }

  #secured(socket: TLSSocket): void {
    const reader = new MessageReader(PEER_HELLO_BYTES_MAX);
    const timer = setTimeout(() => socket.destroy(), PEER_HELLO_MS);
    let receive: ((chunk: Buffer) => void) | null = null;
    socket.on('error', error => this.#parts.log.debug('a connection of a peer failed', {error}));
    socket.on('close', () => clearTimeout(timer));
    socket.on('data', (chunk: Buffer) => {
      if (receive !== null) {
        receive(chunk);
        return;
      }
      try {
        reader.push(chunk);
        const message = reader.next();
        if (message === null) return;
        if (reader.rest.length > 0) throw new MalformedFrame('more than a hello before the answer');
        const hello = helloIn(message);
        clearTimeout(timer);
        this.#silent.delete(nameOf(socket));
        receive = this.#greeted(socket, hello);
      } catch (caught) {
        if (!(caught instanceof MalformedFrame)) throw caught;
        this.#parts.metrics.count('svc_peer_refused_total');
        this.#parts.log.warn('a peer violated the protocol; its connection is closed', {reason: caught.message});
        socket.destroy();
      }
    });
  }

  /** @returns what receives the rest */
  #greeted(socket: TLSSocket, hello: PeerHello): (chunk: Buffer) => void {
    if (hello.version !== PEER_VERSION || (hello.type === 'link' && hello.ipc !== IPC_VERSION)) {
      return refuse(socket, unavailable(`host ${this.#parts.settings.host} runs another version of svc`));
    }
    if (hello.type === 'channel') return this.#channel(socket, hello.router);
    const router = this.#routers.get(hello.router);
    if (router === undefined) return refuse(socket, unavailable('the channel of the router has ended'));
    if (this.#onIdle !== null) return answerMoved(socket);
    if (this.#links >= PEER_LINKS_MAX) return refuse(socket, overloaded('too many links of other hosts are open'));
    const link = new IncomingLink(socket, router.channel, hello, {
      counts: this.#counts,
      closed: ended => {
        router.links.delete(ended);
        this.#links--;
        this.#parts.closed(ended);
        if (this.#links === 0) this.#onIdle?.();
      },
    });
    router.links.add(link);
    this.#links++;
    this.#parts.arrived(link);
    return chunk => link.receive(chunk);
  }

  #channel(socket: TLSSocket, router: string): (chunk: Buffer) => void {
    if (this.#routers.size >= PEER_CHANNELS_MAX) return refuse(socket, overloaded('too many routers are connected'));
    if (this.#routers.has(router)) return refuse(socket, unavailable('the router has a channel already'));
    const links = new Set<IncomingLink>();
    const channel = new PeerChannel(socket, {
      received: message => {
        if (message.type === 'give_up' || message.type === 'suspects')
          channel.end(`a router does not send ${message.type}`);
        else this.#parts.reported(channel, message);
      },
      closed: why => {
        this.#parts.log.info('a router of another host has disconnected', {links: links.size, reason: why});
        this.#routers.delete(router);
        for (const link of [...links]) link.end();
      },
    });
    this.#routers.set(router, {channel, links});
    socket.write(encoded({type: 'open'}));
    return chunk => channel.receive(chunk);
  }
}

function nameOf({remoteAddress, remotePort}: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function answerMoved(socket: TLSSocket): () => void {
  socket.end(encoded({type: 'moved'}));
  return () => socket.destroy();
}

function refuse(socket: TLSSocket, error: ServiceError): () => void {
  socket.end(encoded({type: 'refused', error: errorEnvelope(error).error, retryAfterS: 1}));
  return () => socket.destroy();
}
