/**
 * What comes from the server, taken apart.
 *
 * A transition is applied in this order, without a pause: results and optimistic updates, listeners, promises of mutations that it
 * includes, the identity. Whoever is told first sees what those see who are told last. One that cannot be followed is not applied at all:
 * the socket is given up, and the next one begins from the digests of what is shown.
 */
import {CLIENT_HELD_TRANSITIONS_MAX} from '../../shared/client-limits.ts';
import type {QueryUpdate, ServerMessage, Transition} from '../../shared/protocol/function-socket/server-message.ts';
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

/** What the engine is made of, and what it does with what happened. */
export type Parts = {
  readonly link: SocketLink;
  readonly queries: QuerySet;
  readonly requests: Requests;
  readonly identity: Identity;
  readonly shown: OptimisticUpdates;
  readonly logger: Logger;
  /** Sends what can be sent now. */
  pump(): void;
  /** @param isMoved results are of another version, whichever have changed */
  tell(changed: ReadonlySet<QueryToken>, isMoved?: boolean): void;
  explain(ts: number, updates: Followed[]): void;
  connectionChanged(): void;
  /** The server will not have this client. */
  ended(error: Error): void;
  verbose(text: string): void;
};

export class Incoming {
  readonly #parts: Parts;
  /** The newest moment that was shown, and of which history. */
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
      case 'hello':
        this.#greeted(session, message.session.timeline);
        break;
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
        if (message.identity < session.identityVersion) break; // Of a token that has been replaced.
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
        break; // Of a newer server: what it says there may be ignored.
    }
  }

  #greeted(session: Session, timeline: string): void {
    session.timeline = timeline;
    if (this.#seen !== undefined && this.#seen.timeline !== timeline) this.#parts.requests.forgetMoments();
    // Kept before anything is shown: on the next socket, the moments of mutations are of this history.
    if (this.#seen?.timeline !== timeline) this.#seen = {timeline, ts: 0};
    this.#parts.pump();
    this.#checkCaughtUp(session);
    this.#parts.connectionChanged();
  }

  /* Results */

  /**
   * A mutation that was sent before may be in the results already, while its optimistic update is on top of them: until the server says,
   * transitions wait, or its effect would be shown twice.
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
    // The server has less than was shown before: its file was put back, and it begins again from there.
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
        // What is shown may be from the socket before.
        this.settleReached(this.#seen?.ts ?? 0);
      }
    }
    this.requestsGone(session);
    this.#parts.pump(); // There may be room for the next call.
  }

  /** What is shown does not wait for them any more. */
  requestsGone(session: Session): void {
    this.#release(session);
    this.#checkCaughtUp(session);
    this.#parts.connectionChanged();
  }

  /** Mutations that are done and are in all that is shown, or would be in it, were anything shown. */
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

  /** All that was asked for in the greeting is answered. */
  #checkCaughtUp(session: Session): void {
    if (session.hasCaughtUp || session.timeline === undefined || session.isLost) return;
    const isShown = session.greeted !== undefined && session.version.query_set >= session.greeted;
    if (!isShown || session.version.identity < session.identityVersion) return;
    for (const {isRepeated, outcome} of this.#parts.requests.all()) if (isRepeated && outcome === undefined) return;
    session.hasCaughtUp = true;
    this.#parts.link.caughtUp();
  }
}
