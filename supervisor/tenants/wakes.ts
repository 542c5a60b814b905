/** When a tenant was last woken, why, and how long it took: from the moment it was needed until its worker served. */
import {unreachable} from '../../shared/assert.ts';
import type {WakeCause, WakeRecord} from '../../shared/protocol/tenant-status.ts';
import {WAKES_KEPT} from '../limits.ts';
import type {Input, Lifecycle} from './lifecycle-states.ts';

export type {WakeCause};

export class Wakes {
  /** The wake under way; null: none. */
  #begun: {cause: WakeCause; atMs: number} | null = null;
  /** Newest first; null: none, as for most of many tenants. */
  #last: WakeRecord[] | null = null;

  get last(): readonly WakeRecord[] {
    return this.#last ?? [];
  }

  /** Must be called for each step. @param cause of the input, if the step begins a wake */
  follow(before: Lifecycle, next: Lifecycle, cause: WakeCause, nowMs: number): void {
    if (next.state === before.state) return;
    switch (next.state) {
      case 'moving':
      case 'acquiring':
      case 'queued':
        this.#begun ??= {cause, atMs: nowMs};
        return;
      case 'awake':
        if (before.state === 'waking') this.#opened(nowMs);
        return;
      case 'asleep':
      case 'remote':
      case 'resting':
      case 'paused':
      case 'deleting':
        this.#begun = null;
        return;
      case 'waking':
      case 'releasing':
      case 'handing_over':
      case 'closing':
      case 'pausing':
      case 'errand':
        return;
      default:
        unreachable(next);
    }
  }

  #opened(nowMs: number): void {
    if (this.#begun === null) return;
    const {cause, atMs} = this.#begun;
    this.#begun = null;
    this.#last = [{at: atMs, cause, ms: Math.max(0, nowMs - atMs)}, ...this.last].slice(0, WAKES_KEPT);
  }
}

export function causeOf(input: Input): WakeCause {
  if (input.type === 'move') return 'code';
  return input.type === 'rested' ? 'crash' : 'request';
}
