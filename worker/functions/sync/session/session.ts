/**
 * One client connection: its subscriptions, its identity, and what it has been sent. The next transition is computed
 * when its socket can take it, from what the client has and what is valid now. Nothing is queued for it except
 * responses to its calls.
 *
 *   awaiting_client_hello ──client_hello──▶ established ──socket gone | worker ends──▶ ended
 *            └──anything else | HELLO_TIMEOUT_MS──┴── a message that breaks a rule ──────▲ fatal_error, close 1008
 *
 *   any ──the socket moves to another worker──▶ leaving ──calls under way are answered──▶ ended, close 1012
 *
 * In `established` it has an identity: `session-identity.ts`. A resumed socket, which was open at another worker before,
 * first brings messages that its client sent there. They are dropped, because the client repeats what matters of them
 * after a client_hello that names this session.
 */

import {randomUUID} from 'node:crypto';
import {assert, unreachable} from '../../../../shared/assert.ts';
import {AwakeTimeout} from '../../../../shared/awake-timeout.ts';
import {errorEnvelope, ServiceError} from '../../../../shared/errors.ts';
import {HELLO_TIMEOUT_MS} from '../../../../shared/limits.ts';
import type {SocketFailure} from '../../../../shared/metrics/worker-metrics.ts';
import type {ClientHello, ClientMessage, QuerySet} from '../../../../shared/protocol/function-socket/client-message.ts';
import type {Resumed, ServerMessage, StateVersion} from '../../../../shared/protocol/function-socket/server-message.ts';
import {FUNCTION_PROTOCOL} from '../../../../shared/protocol/function-socket/version.ts';
import {BUILD, VERSION} from '../../../../shared/version.ts';
import {MOMENTS_MISSED_MAX} from '../../limits.ts';
import {type Answer, isShownAlike} from '../queries/answer.ts';
import {type CaughtParts, caughtError} from '../queries/caught.ts';
import type {SubscribedQueries} from '../queries/subscribed-queries.ts';
import type {SubscribedQuery} from '../queries/subscribed-query.ts';
import {commonVersion, versionSeen} from '../queries/versions.ts';
import type {ClientSocket} from './client-socket.ts';
import {type CallParts, SessionCalls} from './session-calls.ts';
import {type Identified, type IdentityParts, SessionIdentity} from './session-identity.ts';
import {SessionQueries, type Subscription} from './session-queries.ts';
import type {Move, Update} from './transition.ts';

export type SessionParts = CallParts &
  CaughtParts &
  IdentityParts & {
    queries: SubscribedQueries;
    timeline: string;
    /** Whether clients get the reasons of failures and of reruns. */
    isOpen: boolean;
    /** It may have something new to send, or has promised a transition. */
    onConcern: (session: Session) => void;
    /** It has identified itself as this client. */
    onClient: (session: Session, clientId: string) => void;
    onEnd: (session: Session) => void;
  };

/** Close codes of RFC 6455 and its registry: the client's fault; a failure that is not its fault; try again later. */
const VIOLATION = 1008;
const FAILED = 1011;
const RESTART = 1012;
const OVERLOADED = 1013;

export class Session implements Identified {
  readonly socket: ClientSocket;
  readonly #parts: SessionParts;
  /** Null until the first call: most of thousands of sessions only subscribe. */
  #calls: SessionCalls | null = null;
  #state: 'awaiting_client_hello' | 'established' | 'leaving' | 'ended' = 'awaiting_client_hello';
  /** Of a resumed socket, until its client has named this id; null: everything is for this session. */
  #awaitedAs: string | null;
  /** Null after client_hello. */
  #helloTimeout: AwakeTimeout | null;
  readonly #who: SessionIdentity;
  clientId = '';
  #explains = false;
  /** JSON of the identity; null: anonymous. */
  identity: string | null = null;
  /** Versions that the client has requested; `#shown` has those that it was sent. */
  #querySet = 0;
  #identityVersion = 0;
  #shown: StateVersion = {query_set: 0, identity: 0, ts: 0};
  /**
   * Older versions are not sent: the client has shown newer data, from another socket or a server-rendered page, or it
   * has requested a query or an identity since, and a write that was acknowledged before must be in the result.
   */
  #notBefore = 0;
  /** The version that a transition was promised for. */
  #dueTs = 0;
  #missed = 0;
  /** Number of the newest answer at the last miss. */
  #missedWith = 0;
  /** Its queries are being run in one snapshot. */
  #isBatching = false;
  /** The answers of that batch. */
  #batch: ReadonlyMap<SubscribedQuery, Answer> | null = null;
  readonly #queries: SessionQueries;

  /** @param resumed the socket was open at another worker before; null: it is new */
  constructor(socket: ClientSocket, parts: SessionParts, resumed: Resumed | null) {
    this.socket = socket;
    this.#parts = parts;
    this.#who = new SessionIdentity(parts, this);
    this.#queries = new SessionQueries(parts.queries, this);
    this.#helloTimeout = new AwakeTimeout(HELLO_TIMEOUT_MS, () => this.#helloMissing());
    socket.whenRoom(() => {
      this.#calls?.resume();
      this.concern();
    });
    const id = randomUUID();
    this.#awaitedAs = resumed === null ? null : id;
    const session = {id, serverNow: parts.clock(), timeline: parts.timeline, ...(resumed === null ? {} : {resumed})};
    this.#send({
      type: 'hello',
      protocol: FUNCTION_PROTOCOL,
      server: {version: VERSION, build: BUILD},
      features: [],
      session,
    });
  }

  get size(): number {
    return this.#queries.size;
  }

  /** It has no subscriptions, calls or identity changes yet. */
  get isSilent(): boolean {
    return this.#queries.size === 0 && this.#calls === null && this.#identityVersion === 0;
  }

  /** Sends the error, and ends the session. */
  fatal(error: ServiceError): void {
    if (this.#state === 'ended') return;
    this.#send({type: 'fatal_error', error: errorEnvelope(error).error});
    this.socket.close(VIOLATION, error.code);
    this.end();
  }

  /** An unexpected failure: the client starts over with a new socket. */
  failed(error: ServiceError): void {
    if (this.#state === 'ended') return;
    this.socket.close(FAILED, error.code);
    this.end();
  }

  /**
   * Does work that no caller waits for: an exception ends this session only.
   * @throws exceptions that must end the process
   */
  guarded(what: SocketFailure, act: () => void): void {
    try {
      act();
    } catch (caught) {
      if (caught instanceof ServiceError) this.fatal(caught);
      else this.failed(caughtError(this.#parts, what, caught));
    }
  }

  /** Its socket moves to another worker, to which its client repeats what is not answered by then. */
  leave(): void {
    if (this.#state === 'ended') return;
    this.#state = 'leaving';
    this.#release();
    this.#calls?.whenIdle(() => this.#leaveIfDone());
    this.socket.whenRoom(() => this.#leaveIfDone());
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (this.#state !== 'leaving' || this.#calls?.isIdle === false || this.socket.waitingChars > 0) return;
    this.socket.close(RESTART, 'the tenant gets another worker');
    this.end();
  }

  #release(): void {
    this.#helloTimeout?.clear();
    this.#who.end();
    this.#calls?.end();
    this.#queries.end();
  }

  /** Its socket is gone. Calls under way finish; waiting ones are dropped. */
  end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#release();
    this.#parts.onEnd(this);
  }

  /** One of its mutations is under way. */
  get isBusy(): boolean {
    return this.#calls?.isBusy === true;
  }

  /** Resolves when its calls under way are settled. */
  settled(): Promise<void> {
    return this.#calls?.settled() ?? Promise.resolve();
  }

  /** The maximum number of sockets is reached. */
  displaced(): void {
    this.socket.close(OVERLOADED, 'session.overloaded');
    this.end();
  }

  /** Its client has connected with another socket. */
  replaced(): void {
    this.socket.close(1000, 'the client has another socket');
    this.end();
  }

  concern(): void {
    this.#parts.onConcern(this);
  }

  /* ── what the client says ── */

  /** @param bytes to be reported as handled after the message @throws ServiceError that ends the session */
  receive(message: ClientMessage, bytes: number): void {
    if (this.#state === 'ended' || this.#state === 'leaving') return;
    if (this.#isForFormer(message)) {
      this.socket.handled(bytes);
      return;
    }
    if (this.#who.defers(message, bytes)) return;
    if (message.type === 'mutation' || message.type === 'action') {
      this.#checkEstablished(message);
      this.#calling().add(message, bytes);
      return;
    }
    this.#handle(message);
    this.socket.handled(bytes);
  }

  /** The client sent it to the worker that its socket was open at before. */
  #isForFormer(message: ClientMessage): boolean {
    if (this.#awaitedAs === null) return false;
    if (message.type !== 'client_hello' || message.session !== this.#awaitedAs) return true;
    this.#awaitedAs = null;
    return false;
  }

  #checkEstablished(message: ClientMessage): void {
    if (this.#state === 'established') return;
    throw new ServiceError('protocol.unsupported_message_type', 'the first message must be client_hello', {
      receivedType: message.type,
      expectedType: 'client_hello',
    });
  }

  #handle(message: Exclude<ClientMessage, {type: 'mutation' | 'action'}>): void {
    if (message.type === 'client_hello') {
      this.#hello(message);
      return;
    }
    this.#checkEstablished(message);
    switch (message.type) {
      case 'query_set':
        this.#changeQueries(message);
        return;
      case 'authenticate':
        this.#checkVersion('identity', this.#identityVersion, message);
        this.#identityVersion = message.new_version;
        void this.#who.authenticate(message.token);
        return;
      case 'clear_auth':
        this.#checkVersion('identity', this.#identityVersion, message);
        this.#identityVersion = message.new_version;
        this.#who.clear();
        return;
      default:
        unreachable(message);
    }
  }

  #hello({protocol, client_id: clientId, seen, explain, resumes}: ClientHello): void {
    if (this.#state !== 'awaiting_client_hello') {
      throw new ServiceError('protocol.unsupported_message_type', 'client_hello is sent once');
    }
    if (protocol !== FUNCTION_PROTOCOL) {
      throw new ServiceError('protocol.unsupported_version', `client_hello must name protocol ${FUNCTION_PROTOCOL}`, {
        receivedProtocol: protocol.slice(0, 100),
      });
    }
    this.#helloTimeout?.clear();
    this.#helloTimeout = null;
    this.#state = 'established';
    this.clientId = clientId;
    this.#explains = explain === true && this.#parts.isOpen;
    this.#hasSeen(seen);
    if (resumes === true) this.socket.resumes();
    this.#parts.onClient(this, clientId);
  }

  #hasSeen(seen: ClientHello['seen']): void {
    this.#notBefore = Math.max(this.#notBefore, versionSeen(seen, this.#parts.timeline, this.#parts.queries.sequence));
  }

  /** Calls start after those of the client's previous sockets are settled. */
  after(settled: Promise<void>): void {
    this.#calling().after(settled);
  }

  #calling(): SessionCalls {
    if (this.#calls !== null) return this.#calls;
    this.#calls = new SessionCalls(this.socket, this.#parts, {
      clientId: () => this.clientId,
      mustReach: ts => this.#mustReach(ts),
      end: () => this.end(),
      caller: () => this.#who.caller,
      runsAs: caller => this.#who.runsAs(caller),
    });
    return this.#calls;
  }

  #checkVersion(
    what: string,
    current: number,
    {base_version, new_version}: {base_version: number; new_version: number},
  ) {
    if (base_version === current && new_version > base_version) return;
    throw new ServiceError(
      'protocol.out_of_step',
      `the ${what} is at version ${current}: a change goes from it to a later one`,
      {
        expected: current,
        base_version,
        new_version,
      },
    );
  }

  #changeQueries(message: QuerySet): void {
    this.#checkVersion('query set', this.#querySet, message);
    this.#querySet = message.new_version;
    this.#hasSeen(message.seen);
    if (message.changes.some(({type}) => type === 'add')) this.#readsNow();
    this.#queries.change(message.changes);
    this.concern();
  }

  /** A read begins: shared answers that a commit has closed are too old for it. */
  #readsNow(): void {
    this.#notBefore = Math.max(this.#notBefore, this.#parts.queries.sequence);
  }

  /* ── who it is ── */

  /** The auth configuration has changed: nothing accepted before is accepted any longer. */
  verifyAgain(): void {
    this.#who.verifyAgain();
  }

  settledAs(identity: string | null): void {
    // Also if it is the same one: writes can have been acknowledged since.
    this.#readsNow();
    if (identity !== this.identity) {
      this.identity = identity;
      this.#batch = null;
      this.#queries.identityChanged();
    }
    this.#calls?.resume();
    this.concern();
  }

  refused(error: ServiceError): void {
    this.#send({type: 'auth_error', identity: this.#identityVersion, error: errorEnvelope(error).error});
  }

  /* ── what it is shown ── */

  #mustReach(ts: number): void {
    this.#dueTs = Math.max(this.#dueTs, ts);
    this.concern();
  }

  /**
   * The next transition: the newest version that the client can be moved to, and its differences. The caller must send
   * it before it calls again.
   * @returns null: nothing to send, or not possible now
   */
  nextMove(): Move | null {
    if (this.#state !== 'established' || !this.#who.isSettled || !this.socket.hasRoom) return null;
    const batch = this.#batch;
    this.#batch = null;
    // The batch holds for one version only; the queries' newer answers are checked next.
    if (batch !== null) this.concern();
    const answers = this.#queries.answers(batch);
    if (answers === null) return null;
    const ts = commonVersion(
      answers.map(({answer}) => answer),
      this.#notBeforeVersion,
      this.#parts.queries.sequence,
    );
    if (ts === null) {
      this.#miss(answers);
      return null;
    }
    this.#missed = 0;
    return this.#moveTo(ts, answers);
  }

  /** The version that the client already shows. */
  get #notBeforeVersion(): number {
    return Math.max(this.#shown.ts, this.#notBefore);
  }

  #moveTo(ts: number, answers: {subscription: Subscription; answer: Answer}[]): Move | null {
    const isIdentityNew = this.#identityVersion !== this.#shown.identity;
    const updates: Update[] = [];
    for (const {subscription, answer} of answers) {
      const {shown, known, queryId} = subscription;
      if (answer.result === shown) continue;
      if (answer.identityUsed && this.#who.isExpired) {
        this.#who.expired();
        return null;
      }
      if (shown !== null && isShownAlike(shown, answer.result)) {
        subscription.shown = answer.result;
        continue;
      }
      const cause = shown === null ? 'added' : isIdentityNew ? 'identity' : null;
      const because = this.#explains ? (cause === null ? answer.because : ({cause} as const)) : null;
      const isKnown = shown === null && answer.result.ok && known === answer.result.digest;
      updates.push({queryId, answer, before: shown, isKnown, because, hasLines: this.#parts.isOpen});
    }
    const isNewVersion = isIdentityNew || this.#querySet !== this.#shown.query_set;
    const isDue = this.#dueTs > this.#shown.ts && ts >= this.#dueTs;
    if (updates.length === 0 && !isNewVersion && !isDue) return null;
    for (const {queryId, answer} of updates) {
      const subscription = this.#queries.get(queryId)!;
      subscription.shown = answer.result;
      subscription.known = null;
    }
    const from = this.#shown;
    assert(ts >= from.ts, 'moments do not go back');
    this.#shown = {query_set: this.#querySet, identity: this.#identityVersion, ts};
    return {from, to: this.#shown, updates};
  }

  /** Its answers have no common version. Their queries run again; after repeated misses they run in one snapshot. */
  #miss(answers: readonly {answer: Answer}[]): void {
    let newest = 0;
    for (const {answer} of answers) newest = Math.max(newest, answer.n);
    if (newest <= this.#missedWith) return; // same answers as at the last miss
    this.#missedWith = newest;
    this.#missed++;
    if (this.#missed < MOMENTS_MISSED_MAX || this.#isBatching) return;
    this.#missed = 0;
    void this.#runBatch();
  }

  async #runBatch(): Promise<void> {
    this.#isBatching = true;
    this.#batch = await this.#queries.together(this.#notBeforeVersion);
    this.#isBatching = false;
    this.concern();
  }

  #helloMissing(): void {
    if (this.#awaitedAs !== null) {
      // Its network can be slow, or gone. That breaks no rule, so its client can come back.
      this.socket.close(RESTART, 'protocol.hello_timeout');
      this.end();
      return;
    }
    this.fatal(
      new ServiceError('protocol.hello_timeout', `client_hello did not arrive within ${HELLO_TIMEOUT_MS} ms`, {
        timeoutMs: HELLO_TIMEOUT_MS,
      }),
    );
  }

  #send(message: ServerMessage): void {
    this.socket.send(JSON.stringify(message));
  }
}
