/**
 * Mutations and actions that have no outcome yet, in the order of their calls.
 *
 *   mutation:  queued ──send──▶ sent ──ok, ts──▶ done ──a transition to ts or later is shown──▶ (resolved)
 *                ▲               │ │                ▲ socket lost: stays done, its outcome is known
 *                └──socket lost──┘ └──failed──▶ (rejected, at once)
 *   either:    queued ──who is signed in is not who made it──▶ (rejected)
 *   action:    queued ──send──▶ sent ──answer──▶ (resolved | rejected)
 *                                └──socket lost──▶ (rejected: nobody knows whether it ran)
 *
 * The server keeps outcomes under the client's id and the number of the request, so that sending a mutation again does not run it again.
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
  /** Was sent before, on a socket that is lost: it may have run. */
  isRepeated: boolean;
  /** Of one that is done: its value, and the moment from which results include it. */
  outcome: {value: Value; ts: number} | undefined;
  resolve(value: Value): void;
  reject(error: Error): void;
};

export class Requests {
  /** By number, and so in the order of the calls. */
  readonly #open = new Map<number, Request>();
  /** Of those, how many there are of each kind, and by each caller. */
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

  /** @throws Error when too many wait already */
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

  /** What is to be sent now, marked as sent: no more than may be under way together, but one always. */
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

  /** Those that wait and were made by somebody else than this user. */
  ofOthers(user: string | undefined): Request[] {
    if ([...this.#callers.keys()].every(who => who.user === user)) return [];
    return this.#all(({state, who}) => state === 'queued' && who.user !== user);
  }

  /** @returns actions that nobody will answer */
  socketLost(): Request[] {
    const sent = this.#all(({state}) => state === 'sent');
    return sent.filter(request => {
      if (request.kind === 'action') return true;
      request.state = 'queued';
      request.isRepeated = true;
      return false;
    });
  }

  /** @returns those whose effects are in the results of this moment; they are gone */
  reached(ts: number): Request[] {
    const included = this.#all(({outcome}) => outcome !== undefined && outcome.ts <= ts);
    for (const request of included) this.remove(request);
    return included;
  }

  #all(is: (request: Request) => boolean): Request[] {
    return [...this.#open.values()].filter(is);
  }

  /** The latest moment that some mutation waits for. */
  get awaitedTs(): number {
    let latest = 0;
    for (const {outcome} of this.#open.values()) latest = Math.max(latest, outcome?.ts ?? 0);
    return latest;
  }

  /** Moments are counted anew: whatever is shown next is after all of these. */
  forgetMoments(): void {
    for (const request of this.#open.values()) if (request.outcome !== undefined) request.outcome.ts = 0;
  }

  /** The lowest mutation without an outcome: there is always one, for this is asked while one is sent. */
  #settledBelow(): number {
    for (const {id, kind, outcome} of this.#open.values()) if (kind === 'mutation' && outcome === undefined) return id;
    return this.#nextId;
  }
}

/** `Promise.withResolvers` is younger than the runtimes that clients run in. */
function withResolvers<T>(): {promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void} {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return {promise, resolve, reject};
}
