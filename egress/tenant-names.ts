/**
 * Name look-ups of one tenant. Simultaneous look-ups of one name share one place in the queue of all tenants. Failures
 * are cached briefly, so code that retries in a loop does not reach a name server.
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
  /** Oldest first. */
  readonly #failures = new Map<string, Failure>();

  constructor(tenant: string, queue: LookupQueue, resolve: Resolve) {
    this.#tenant = tenant;
    this.#queue = queue;
    this.#resolve = resolve;
  }

  /** @throws the error of the look-up, or the reason of `signal` */
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

  /** The look-up has ended, or all of its callers have given up. */
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
