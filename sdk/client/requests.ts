/**
 * Mutations and actions without an outcome yet, in the order of their calls.
 *
 *   mutation:  queued ──send──▶ sent ──ok, ts──▶ done ──a transition to ts or later is shown──▶ (resolved)
 *                ▲               │ │                ▲ socket lost: stays done, its outcome is known
 *                └──socket lost──┘ └──failed──▶ (rejected, at once)
 *   either:    queued ──who is signed in is not who made it──▶ (rejected)
 *   action:    queued ──send──▶ sent ──answer──▶ (resolved | rejected)
 *                ▲               │ └──socket lost──▶ (rejected: it is unknown whether it ran)
 *                └───────────────┘ the server has not received it
 *
 * The server stores outcomes under the client's id and the request number, so sending a mutation again does not run it
 * again.
 */
import {
  CLIENT_CALLS_UNDER_WAY_CHARS_MAX,
  CLIENT_CALLS_UNDER_WAY_MAX,
  CLIENT_REQUESTS_MAX,
} from '../../shared/client-limits.ts';
import type {Value} from '../values/value.ts';
import type {FunctionCall} from './function-call.ts';
import type {Who} from './identity.ts';

export type RequestKind = 'mutation' | 'action';

export type Request = {
  readonly id: number;
  readonly kind: RequestKind;
  readonly call: FunctionCall;
  readonly who: Who;
  readonly startedMs: number;
  state: 'queued' | 'sent' | 'done';
  /** Was sent on an earlier socket that is lost, so it might have run. */
  isRepeated: boolean;
  /** For a completed mutation: its value, and the version from which results include it. */
  outcome: {value: Value; ts: number} | undefined;
  resolve(value: Value): void;
  reject(error: Error): void;
};

export class Requests {
  /** By request number, and therefore in the order of the calls. */
  readonly #open = new Map<number, Request>();
  /** The number of open requests by kind and by caller. */
  readonly #counts = {mutation: 0, action: 0};
  readonly #callers = new Map<Who, number>();
  #nextId = 0;

  get(id: number, kind: RequestKind): Request | undefined {
    const request = this.#open.get(id);
    return request?.kind === kind ? request : undefined;
  }

  all(): Iterable<Request> {
    return this.#open.values();
  }

  count(kind: RequestKind): number {
    return this.#counts[kind];
  }

  get oldest(): Request | undefined {
    return this.#open.values().next().value;
  }

  /** @throws Error when too many requests wait already */
  add(kind: RequestKind, call: FunctionCall, who: Who): {request: Request; answer: Promise<Value>} {
    if (this.#open.size >= CLIENT_REQUESTS_MAX) {
      throw new Error(
        `Too many calls without an answer (${CLIENT_REQUESTS_MAX}): the connection has been lost for long`,
      );
    }
    const {promise, resolve, reject} = withResolvers<Value>();
    const request: Request = {
      id: this.#nextId++,
      kind,
      call,
      who,
      startedMs: Date.now(),
      state: 'queued',
      isRepeated: false,
      outcome: undefined,
      resolve,
      reject,
    };
    this.#open.set(request.id, request);
    this.#count(request, 1);
    return {request, answer: promise};
  }

  remove(request: Request): void {
    if (this.#open.delete(request.id)) this.#count(request, -1);
  }

  #count({kind, who}: Request, by: 1 | -1): void {
    this.#counts[kind] += by;
    const count = (this.#callers.get(who) ?? 0) + by;
    if (count === 0) this.#callers.delete(who);
    else this.#callers.set(who, count);
  }

  /**
   * Returns the messages to send now and marks them as sent. At least one request is always under way, whatever its
   * size.
   */
  toSend(kind: RequestKind): string[] {
    const messages: string[] = [];
    if (this.#counts[kind] === 0) return messages;
    let count = 0;
    let chars = 0;
    for (const request of this.#open.values()) {
      if (request.kind !== kind || request.state === 'done') continue;
      count++;
      chars += request.call.argsText.length;
      if (request.state === 'sent') continue;
      if (count > CLIENT_CALLS_UNDER_WAY_MAX || (count > 1 && chars > CLIENT_CALLS_UNDER_WAY_CHARS_MAX)) break;
      request.state = 'sent';
      const rest = {type: kind, request_id: request.id};
      messages.push(request.call.message(kind === 'mutation' ? {...rest, settled_below: this.#settledBelow()} : rest));
    }
    return messages;
  }

  /** Queued requests that another user made. */
  ofOthers(user: string | undefined): Request[] {
    if ([...this.#callers.keys()].every(who => who.user === user)) return [];
    return this.#all(({state, who}) => state === 'queued' && who.user !== user);
  }

  /**
   * @param areAnswered the server has answered all actions that it received
   * @returns actions that will get no response
   */
  socketLost(areAnswered = false): Request[] {
    const sent = this.#all(({state}) => state === 'sent');
    return sent.filter(request => {
      if (request.kind === 'action') {
        if (areAnswered) request.state = 'queued';
        return !areAnswered;
      }
      request.state = 'queued';
      request.isRepeated = true;
      return false;
    });
  }

  /** @returns mutations whose effects are included in results of this version; they are removed */
  reached(ts: number): Request[] {
    const included = this.#all(({outcome}) => outcome !== undefined && outcome.ts <= ts);
    for (const request of included) this.remove(request);
    return included;
  }

  #all(is: (request: Request) => boolean): Request[] {
    return [...this.#open.values()].filter(is);
  }

  /** The latest version that some mutation waits for. */
  get awaitedTs(): number {
    let latest = 0;
    for (const {outcome} of this.#open.values()) latest = Math.max(latest, outcome?.ts ?? 0);
    return latest;
  }

  /** Versions count from the start again, so whatever is shown next includes all of these mutations. */
  forgetMoments(): void {
    for (const request of this.#open.values()) if (request.outcome !== undefined) request.outcome.ts = 0;
  }

  /** The lowest mutation without an outcome. One always exists, because this runs while a mutation is being sent. */
  #settledBelow(): number {
    for (const {id, kind, outcome} of this.#open.values()) if (kind === 'mutation' && outcome === undefined) return id;
    return this.#nextId;
  }
}

/** `Promise.withResolvers` is newer than some runtimes that clients support. */
function withResolvers<T>(): {promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void} {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return {promise, resolve, reject};
}
