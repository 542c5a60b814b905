/**
 * Names that one tenant looks up: each in the queue of all tenants, several wishes for one name once. A failure is
 * remembered for a moment, so code that tries again and again asks no name server.
 */
import {EGRESS_LOOKUP_FAILURE_MS, EGRESS_LOOKUP_FAILURES_KEPT} from './limits.ts';
import {type LookupQueue, QueueFull} from './lookup-queue.ts';
import type {Resolve} from './policy.ts';

type UnderWay = {addresses: Promise<string[]>; wantedBy: number; stop: AbortController};
type Failure = {error: unknown; untilMs: number};

export class TenantNames {
  readonly #tenant: string;
  readonly #queue: LookupQueue;
  readonly #resolve: Resolve;
  readonly #underWay = new Map<string, UnderWay>();
  /** The oldest first. */
  readonly #failures = new Map<string, Failure>();

  constructor(tenant: string, queue: LookupQueue, resolve: Resolve) {
    this.#tenant = tenant;
    this.#queue = queue;
    this.#resolve = resolve;
  }

  /** @throws what the look-up failed with, or the reason of `signal` */
  async addresses(host: string, signal: AbortSignal): Promise<string[]> {
    signal.throwIfAborted();
    const failure = this.#failures.get(host);
    if (failure !== undefined && failure.untilMs > performance.now()) throw failure.error;
    const underWay = this.#underWay.get(host) ?? this.#begin(host);
    underWay.wantedBy++;
    let givenUp: () => void = () => undefined;
    const ended = new Promise<never>((_, reject) => {
      givenUp = () => reject(signal.reason as Error);
      signal.addEventListener('abort', givenUp, {once: true});
    });
    try {
      return await Promise.race([underWay.addresses, ended]);
    } finally {
      signal.removeEventListener('abort', givenUp);
      underWay.wantedBy--;
      if (underWay.wantedBy === 0) this.#end(host, underWay);
    }
  }

  #begin(host: string): UnderWay {
    const stop = new AbortController();
    const addresses = this.#queue.run(this.#tenant, stop.signal, () => this.#resolve(host, stop.signal));
    const underWay: UnderWay = {addresses, wantedBy: 0, stop};
    this.#underWay.set(host, underWay);
    addresses.then(
      () => this.#failures.delete(host),
      (error: unknown) => {
        if (!stop.signal.aborted && !(error instanceof QueueFull)) this.#failed(host, error);
      },
    );
    return underWay;
  }

  /** It has ended, or no one wants it any more. */
  #end(host: string, underWay: UnderWay): void {
    if (this.#underWay.get(host) === underWay) this.#underWay.delete(host);
    underWay.stop.abort();
  }

  #failed(host: string, error: unknown): void {
    this.#failures.delete(host);
    this.#failures.set(host, {error, untilMs: performance.now() + EGRESS_LOOKUP_FAILURE_MS});
    if (this.#failures.size > EGRESS_LOOKUP_FAILURES_KEPT) this.#failures.delete(this.#failures.keys().next().value!);
  }
}
