/**
 * The worker's side of function sockets: the sessions of all routers, and their subscribed queries. A commit closes
 * answers, and their queries run again. Subscribers get the newest version that all of their queries have in common, in
 * one transition. Sessions with the same transition share one text, sent once per router.
 */
import {Buffer} from 'node:buffer';
import type {Commit, Stage} from '../../../engine/commit/commit.ts';
import {SLICE_MS} from '../../../engine/limits.ts';
import {BufferedBytes} from '../../../shared/byte-accounts.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {SocketFailure, WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import type {Resumed} from '../../../shared/protocol/function-socket/server-message.ts';
import type {SocketEvents, SocketLink} from '../../ipc/router-link.ts';
import {FUNCTION_SOCKETS_MAX, SOCKETS_WAITING_CHARS_MAX} from '../limits.ts';
import {caughtError} from './queries/caught.ts';
import {SubscribedQueries, type SubscribedQueriesParts} from './queries/subscribed-queries.ts';
import {readMessage} from './session/client-frame.ts';
import {ClientSocket} from './session/client-socket.ts';
import {Session, type SessionParts} from './session/session.ts';
import {type Move, messagesOf, moveKey, transitionText} from './session/transition.ts';

export type SyncParts = SubscribedQueriesParts &
  Pick<SessionParts, 'verify' | 'clock' | 'timeline' | 'isOpen' | 'call' | 'mutate' | 'shown'> & {
    metrics: WorkerMetrics;
    /** Origins of pages that can connect; null: any. */
    allowedOrigins: () => readonly string[] | null;
    /** Maximum of open sockets. Default: FUNCTION_SOCKETS_MAX. */
    socketsMax?: number;
  };

const OVERLOADED = 1013;

type Shared = {messages: readonly string[]; bytes: number; takers: Map<SocketLink, ClientSocket[]>};

export class Sync implements Stage, SocketEvents {
  readonly #parts: SyncParts;
  readonly #queries: SubscribedQueries;
  readonly #ofSessions: SessionParts;
  readonly #sessions = new Map<SocketLink, Map<number, Session>>();
  #count = 0;
  /** Unused sessions, oldest first. */
  readonly #idle = new Set<Session>();
  /** Send buffers of slow sockets. Characters. */
  readonly #waiting = new BufferedBytes(SOCKETS_WAITING_CHARS_MAX);
  readonly #byClient = new Map<string, Session>();
  /** Calls under way of clients whose socket is gone. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Sessions that may have something new to send, in order of their notification. */
  #concerned = new Set<Session>();
  #isScheduled = false;
  #isClosed = false;

  constructor(parts: SyncParts) {
    this.#parts = parts;
    this.#queries = new SubscribedQueries(parts);
    this.#ofSessions = {
      ...parts,
      queries: this.#queries,
      onConcern: one => this.#concern(one),
      onClient: (one, clientId) => this.#client(one, clientId),
      onEnd: one => this.#ended(one),
    };
  }

  get sessions(): number {
    return this.#count;
  }

  get queries(): number {
    return this.#queries.size;
  }

  /** The subscribed queries. */
  get subscribedQueries(): SubscribedQueries {
    return this.#queries;
  }

  committed(commit: Commit): void {
    this.#queries.committed(commit);
  }

  /** The active deployment has other auth providers. */
  verifyAgain(): void {
    for (const sessions of this.#sessions.values()) for (const session of sessions.values()) session.verifyAgain();
  }

  close(): void {
    this.#isClosed = true;
    this.#queries.close();
    for (const link of [...this.#sessions.keys()]) this.released(link);
  }

  /* ── from the routers ── */

  opened(link: SocketLink, stream: number, origin: string, resumed: Resumed | null): void {
    this.closed(link, stream); // a number stands for one socket
    const socket = new ClientSocket(link, stream, this.#waiting);
    const {socketsMax = FUNCTION_SOCKETS_MAX} = this.#parts;
    if (this.#count >= socketsMax) this.#displaceIdle();
    if (this.#count >= socketsMax || this.#isClosed) {
      socket.close(OVERLOADED, 'session.overloaded');
      return;
    }
    const session = new Session(socket, this.#ofSessions, resumed);
    let sessions = this.#sessions.get(link);
    if (sessions === undefined) {
      sessions = new Map();
      this.#sessions.set(link, sessions);
    }
    sessions.set(stream, session);
    this.#count++;
    this.#idle.add(session);
    const allowed = this.#parts.allowedOrigins();
    if (origin === '' || allowed === null || allowed.includes(origin)) return;
    session.fatal(new ServiceError('auth.origin_forbidden', 'pages of this Origin may not connect'));
  }

  message(link: SocketLink, stream: number, message: Buffer, isBinary: boolean): void {
    const session = this.#sessions.get(link)?.get(stream);
    if (session === undefined) return; // closed while the message was under way
    try {
      session.receive(readMessage(message, isBinary), message.length);
    } catch (caught) {
      if (caught instanceof ServiceError) session.fatal(caught);
      else this.#failed(session, 'message', caught);
    }
    if (!session.isSilent) this.#idle.delete(session);
  }

  credited(link: SocketLink, stream: number, bytes: number): void {
    const session = this.#sessions.get(link)?.get(stream);
    if (session === undefined) return;
    try {
      session.socket.credited(bytes);
    } catch (caught) {
      this.#failed(session, 'call', caught);
    }
  }

  leaves(link: SocketLink, stream: number): void {
    this.#sessions.get(link)?.get(stream)?.leave();
  }

  closed(link: SocketLink, stream: number): void {
    const session = this.#sessions.get(link)?.get(stream);
    session?.socket.closed();
    session?.end();
  }

  released(link: SocketLink): void {
    for (const session of [...(this.#sessions.get(link)?.values() ?? [])]) {
      session.socket.closed();
      session.end();
    }
    this.#sessions.delete(link);
  }

  /* ── sessions ── */

  /** A client has one socket: an earlier one, which it has abandoned, must not act in its name any longer. */
  #client(session: Session, clientId: string): void {
    this.#byClient.get(clientId)?.replaced();
    this.#byClient.set(clientId, session);
    const leaving = this.#leaving.get(clientId);
    if (leaving !== undefined) session.after(leaving);
  }

  #ended(session: Session): void {
    const {link, stream} = session.socket;
    const sessions = this.#sessions.get(link);
    if (sessions?.delete(stream) === true) this.#count--;
    if (sessions?.size === 0) this.#sessions.delete(link);
    if (this.#byClient.get(session.clientId) === session) {
      this.#byClient.delete(session.clientId);
      this.#leave(session);
    }
    this.#concerned.delete(session);
    this.#idle.delete(session);
  }

  /** Closes the oldest unused socket to make room for a new one. */
  #displaceIdle(): void {
    const [oldest] = this.#idle;
    oldest?.displaced();
  }

  /** Its calls under way are settled before the next socket of its client does anything. */
  #leave(session: Session): void {
    const {clientId} = session;
    if (!session.isBusy) return;
    const settled = session.settled().finally(() => {
      if (this.#leaving.get(clientId) === settled) this.#leaving.delete(clientId);
    });
    this.#leaving.set(clientId, settled);
  }

  /** Ends this session only; its client reconnects. @throws exceptions that must end the process */
  #failed(session: Session, what: SocketFailure, caught: unknown): void {
    session.failed(caughtError(this.#parts, what, caught));
  }

  #concern(session: Session): void {
    this.#concerned.add(session);
    this.#schedule();
  }

  /** Runs at the end of the tick, so that concurrent changes are sent together. */
  #schedule(): void {
    if (this.#isScheduled || this.#concerned.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#show();
      this.#schedule();
    });
  }

  /**
   * Works for one time slice; the rest waits for the next tick. Sessions with further changes queue behind the others.
   */
  #show(): void {
    const endsMs = performance.now() + SLICE_MS;
    const shared = new Map<string, Shared>();
    const concerned = this.#concerned;
    this.#concerned = new Set();
    for (const session of concerned) {
      concerned.delete(session);
      try {
        const move = session.nextMove();
        if (move !== null) this.#add(shared, session.socket, move);
      } catch (caught) {
        this.#failed(session, 'transition', caught);
      }
      if (performance.now() > endsMs) break;
    }
    for (const session of this.#concerned) concerned.add(session);
    this.#concerned = concerned;
    for (const {messages, bytes, takers} of shared.values()) {
      for (const [link, sockets] of takers) this.#send(link, sockets, messages, bytes);
    }
  }

  #add(shared: Map<string, Shared>, socket: ClientSocket, move: Move): void {
    const key = moveKey(move);
    let one = shared.get(key);
    if (one === undefined) {
      const messages = messagesOf(transitionText(move));
      one = {messages, bytes: Buffer.byteLength(messages[0]!), takers: new Map()};
      shared.set(key, one);
    }
    const sockets = one.takers.get(socket.link);
    if (sockets === undefined) one.takers.set(socket.link, [socket]);
    else sockets.push(socket);
    const {metrics} = this.#parts;
    metrics.transitions.value++;
    metrics.transitionUpdates.value += move.updates.length;
  }

  #send(link: SocketLink, sockets: readonly ClientSocket[], messages: readonly string[], bytes: number): void {
    if (messages.length > 1) {
      for (const socket of sockets) for (const message of messages) socket.send(message, sockets.length);
      return;
    }
    link.socketMessage(
      sockets.map(({stream}) => stream),
      messages[0]!,
    );
    for (const socket of sockets) socket.sent(bytes);
  }
}
