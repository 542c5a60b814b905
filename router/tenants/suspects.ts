/**
 * The suspected calls of one tenant, which were under way when workers crashed: which are refused, and whose answers
 * the supervisor needs to know of. A copy of the supervisor's quarantine (shared/quarantine.ts), the same in every
 * router.
 */
import {ServiceError} from '../../shared/errors.ts';
import {shownFunction} from '../../shared/function-name.ts';
import type {TenantSuspects, UserCall} from '../../shared/ipc/control.ts';
import {SUSPICION_MS} from '../../shared/limits.ts';
import type {Suspicion} from '../workers/forwarded.ts';

export class Suspects implements Suspicion {
  /** By key and by name: until when a call is refused. */
  #calls = new Map<string, number>();
  #functions = new Map<string, number>();
  /** When the whole list expires. */
  #forgottenMs = 0;
  readonly #onAnswered: (key: string) => void;

  /** @param onAnswered called when a suspected call was answered and is therefore innocent */
  constructor(onAnswered: (key: string) => void) {
    this.#onAnswered = onAnswered;
  }

  replace({calls, functions}: Omit<TenantSuspects, 'tenant'>, nowMs: number): void {
    this.#calls = new Map(calls.map(({key, refusedMs}) => [key, nowMs + refusedMs]));
    this.#functions = new Map(functions.map(({name, refusedMs}) => [name, nowMs + refusedMs]));
    this.#forgottenMs = Math.max(nowMs, ...this.#calls.values(), ...this.#functions.values()) + SUSPICION_MS;
  }

  /** As `replace` takes it. */
  state(nowMs: number): Omit<TenantSuspects, 'tenant'> {
    const refusedMs = (untilMs: number) => Math.max(0, untilMs - nowMs);
    return {
      calls: [...this.#calls].map(([key, untilMs]) => ({key, refusedMs: refusedMs(untilMs)})),
      functions: [...this.#functions].map(([name, untilMs]) => ({name, refusedMs: refusedMs(untilMs)})),
    };
  }

  /** No call is suspected any more. */
  isEmpty(nowMs: number): boolean {
    return (this.#calls.size === 0 && this.#functions.size === 0) || nowMs >= this.#forgottenMs;
  }

  /** @throws op.quarantined 503 */
  check({name, key}: UserCall, nowMs: number): void {
    const callMs = (this.#calls.get(key) ?? 0) - nowMs;
    if (callMs > 0) throw refusal(`this call of ${shownFunction(name)}`, callMs);
    const functionMs = (this.#functions.get(name) ?? 0) - nowMs;
    if (functionMs > 0) throw refusal(shownFunction(name), functionMs);
  }

  answered({key}: UserCall): void {
    if (this.#calls.delete(key)) this.#onAnswered(key);
  }

  /** Another router reported that the call is innocent. */
  forget(key: string): void {
    this.#calls.delete(key);
  }
}

function refusal(what: string, forMs: number): ServiceError {
  const seconds = Math.ceil(forMs / 1_000);
  return new ServiceError(
    'op.quarantined',
    `${what} is refused for ${seconds} s, because the tenant's process ended each time while it ran; other calls go on`,
    {retry_after_seconds: seconds},
  );
}
