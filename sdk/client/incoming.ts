/**
 * Handles the messages that come from the server.
 *
 * A transition is applied in this order, synchronously: results and optimistic updates, listeners, promises of the
 * mutations that it includes, the identity. So all listeners see the same state. If one change of a transition cannot
 * be applied, none is: the client drops the socket, and the next one starts from the digests of what is shown.
 */
import {CLIENT_HELD_TRANSITIONS_MAX} from '../../shared/client-limits.ts';
import type {
  QueryUpdate,
  Resumed,
  ServerMessage,
  Transition,
} from '../../shared/protocol/function-socket/server-message.ts';
import {decodeParsed, holdsFloats} from '../../shared/values/wire-value.ts';
import type {Value} from '../values/value.ts';
import type {QueryToken} from './function-call.ts';
import type {Identity} from './identity.ts';
import {echoLines, functionError, type Logger} from './logger.ts';
import type {OptimisticUpdates} from './optimistic-updates.ts';
import type {QuerySet} from './query-set.ts';
import {type QueryState, updatedState} from './query-update.ts';
import type {Request, Requests} from './requests.ts';
import {isSameVersion, parsedMessage, type Session} from './session.ts';
import type {SocketLink} from './socket-link.ts';
import type {Query} from './watched-query.ts';

export type Followed = {query: Query; update: QueryUpdate; state: QueryState};
type Answer = Extract<ServerMessage, {type: 'mutation_result' | 'action_result'}>;

/** The parts of the engine, and the callbacks for what happened. */
export type Parts = {
  readonly link: SocketLink;
  readonly queries: QuerySet;
  readonly requests: Requests;
  readonly identity: Identity;
  readonly shown: OptimisticUpdates;
  readonly logger: Logger;
  /** Sends what can be sent now. */
  pump(): void;
  /** @param isMoved results are of another version, even if none of them changed */
  tell(changed: ReadonlySet<QueryToken>, isMoved?: boolean): void;
  explain(ts: number, updates: Followed[]): void;
  connectionChanged(): void;
  /** The tenant has another worker, so everything is said again. @returns the session that begins */
  resumed(id: string, resumed: Resumed): Session;
  /** The server permanently rejects this client. */
  ended(error: Error): void;
  verbose(text: string): void;
};

export class Incoming {
  readonly #parts: Parts;
  /** The newest version that was shown, and its timeline. */
  #seen: {timeline: string; ts: number} | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get seen(): {readonly timeline: string; readonly ts: number} | undefined {
    return this.#seen;
  }

  receive(session: Session, text: string): void {
    const message = parsedMessage(text);
    if (message === null) {
      this.#parts.link.restart('no JSON');
      return;
    }
    switch (message.type) {
      case 'hello': {
        const {id, timeline, resumed} = message.session;
        this.#greeted(resumed === undefined ? session : this.#parts.resumed(id, resumed), timeline);
        break;
      }
      case 'transition':
        this.#hold(session, message, holdsFloats(text));
        break;
      case 'transition_part': {
        const whole = session.parts.add(message);
        if (whole === undefined) this.#parts.link.restart('a part out of order');
        else if (whole !== null) this.receive(session, whole);
        break;
      }
      case 'mutation_result':
      case 'action_result':
        this.#answered(session, message, holdsFloats(text));
        break;
      case 'auth_error':
        if (message.identity < session.identityVersion) break; // About a token that has been replaced.
        this.#parts.verbose(`the token was refused: ${message.error.message}`);
        this.#parts.identity.refused(message.error.message);
        break;
      case 'fatal_error':
        this.#parts.ended(
          new Error(`The server ended the connection: ${message.error.message} (${message.error.code})`),
        );
        break;
      case 'ping':
        break;
      default:
        break; // From a newer server: unknown messages can be ignored.
    }
  }

  #greeted(session: Session, timeline: string): void {
    session.timeline = timeline;
    if (this.#seen !== undefined && this.#seen.timeline !== timeline) this.#parts.requests.forgetMoments();
    // Set before anything is shown, because on the next socket the versions of mutations belong to this timeline.
    if (this.#seen?.timeline !== timeline) this.#seen = {timeline, ts: 0};
    this.#parts.pump();
    this.#checkCaughtUp(session);
    this.#parts.connectionChanged();
  }

  /* Results */

  /**
   * The results can already include a mutation that was sent on an earlier socket while its optimistic update is still
   * on top of them. So transitions wait for the server's response, or the effect would be shown twice.
   */
  #hold(session: Session, transition: Transition, hasFloats: boolean): void {
    session.held.push({transition, hasFloats});
    this.#release(session);
  }

  #release(session: Session): void {
    while (!session.isLost && session.held.length > 0) {
      if (session.held.length <= CLIENT_HELD_TRANSITIONS_MAX && this.#isWaitingForRepeated()) return;
      const {transition, hasFloats} = session.held.shift()!;
      this.#apply(session, transition, hasFloats);
    }
  }

  #isWaitingForRepeated(): boolean {
    for (const {id, isRepeated, outcome} of this.#parts.requests.all()) {
      if (isRepeated && outcome === undefined && this.#parts.shown.has(id)) return true;
    }
    return false;
  }

  #apply(session: Session, {from, to, changes}: Transition, hasFloats: boolean): void {
    if (session.timeline === undefined || !isSameVersion(from, session.version)) {
      this.#parts.link.restart('a transition from elsewhere');
      return;
    }
    const updates: Followed[] = [];
    let isFollowed = true;
    for (const update of changes) {
      const query = this.#parts.queries.withId(update.query_id);
      if (query === undefined) continue; // It has been removed, and the server does not know yet.
      const state = updatedState(query, update, hasFloats);
      if (state !== null) updates.push({query, update, state});
      else {
        query.shown = undefined;
        isFollowed = false;
      }
    }
    if (!isFollowed) {
      this.#parts.link.restart('a change of nothing');
      return;
    }
    // The server is at an older version than the one shown: its database file was restored, so versions count from
    // there.
    if (to.ts < (this.#seen?.ts ?? 0)) this.#parts.requests.forgetMoments();
    session.version = to;
    this.#seen = {timeline: session.timeline, ts: to.ts};
    const included = this.#parts.requests.reached(to.ts);
    const changed = this.#parts.shown.replace(
      updates.filter(({query, state}) => state.result !== query.result).map(({query}) => query.token),
      () => {
        for (const {query, state} of updates) Object.assign(query, state);
      },
      included.map(({id}) => id),
    );
    for (const {query, update} of updates) echoLines(this.#parts.logger, 'query', query.call.path, update.log_lines);
    this.#parts.tell(changed, true);
    this.#parts.explain(to.ts, updates);
    this.#settle(included);
    this.#checkIdentity(session);
    this.#checkCaughtUp(session);
  }

  #answered(session: Session, answer: Answer, hasFloats: boolean): void {
    const kind = answer.type === 'mutation_result' ? 'mutation' : 'action';
    const request = this.#parts.requests.get(answer.request_id, kind);
    if (request === undefined || request.outcome !== undefined) return;
    echoLines(this.#parts.logger, kind, request.call.path, answer.log_lines);
    if (!answer.ok) {
      this.#parts.requests.remove(request);
      this.#parts.tell(this.#parts.shown.drop([request.id]));
      request.reject(functionError(kind, request.call.path, answer.error));
    } else {
      const value = (hasFloats ? decodeParsed(answer.value) : answer.value) as Value;
      if (answer.type === 'action_result') {
        this.#parts.requests.remove(request);
        request.resolve(value);
      } else {
        request.outcome = {value, ts: answer.ts};
        request.state = 'done';
        // What is shown might come from the previous socket.
        this.settleReached(this.#seen?.ts ?? 0);
      }
    }
    this.requestsGone(session);
    this.#parts.pump(); // There might be capacity for the next call.
  }

  /** These requests no longer delay what is shown. */
  requestsGone(session: Session): void {
    this.#release(session);
    this.#checkCaughtUp(session);
    this.#parts.connectionChanged();
  }

  /** Resolves completed mutations that everything shown includes, or would include if anything were shown. */
  settleReached(ts: number): void {
    const included = this.#parts.requests.reached(ts);
    this.#parts.tell(this.#parts.shown.drop(included.map(({id}) => id)));
    this.#settle(included);
  }

  #settle(included: Request[]): void {
    for (const {resolve, outcome} of included) resolve(outcome!.value);
    if (included.length > 0) this.#parts.connectionChanged();
  }

  #checkIdentity(session: Session): void {
    const isConfirmed =
      session.version.identity === session.identityVersion && session.revision === this.#parts.identity.revision;
    if (session.isIdentityConfirmed || !isConfirmed || session.identityVersion === 0) return;
    session.isIdentityConfirmed = true;
    this.#parts.identity.confirmed();
  }

  /** Checks whether everything requested in the greeting has arrived. */
  #checkCaughtUp(session: Session): void {
    if (session.hasCaughtUp || session.timeline === undefined || session.isLost) return;
    const isShown = session.greeted !== undefined && session.version.query_set >= session.greeted;
    if (!isShown || session.version.identity < session.identityVersion) return;
    for (const {isRepeated, outcome} of this.#parts.requests.all()) if (isRepeated && outcome === undefined) return;
    session.hasCaughtUp = true;
    this.#parts.link.caughtUp();
  }
}
