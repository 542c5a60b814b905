/** The unanswered operations of an action: their number is limited, and they are listed when it ends. */
import {ACTION_CALLS_MAX} from '../guest/limits.ts';
import {MAIN_OPERATIONS, refusal} from './action-message.ts';

/** Operations that cause a warning if they are not awaited. */
const AWAITED = [...MAIN_OPERATIONS, 'fetch'] as readonly string[];

export class PendingOperations {
  /** Call → operation. */
  readonly #operations = new Map<number, string>();

  get size(): number {
    return this.#operations.size;
  }

  /**
   * User code counts too, but its count can be tampered with. @returns a host answer that refuses it; null: it has
   * begun
   */
  begin(call: number, operation: string, isFree = false): string | null {
    if (!isFree && this.#operations.size >= 2 * ACTION_CALLS_MAX) return refusal('Too many concurrent operations');
    if (this.#operations.has(call)) return refusal('an operation of this number is under way');
    this.#operations.set(call, operation);
    return null;
  }

  /** Marks an operation that had begun as answered. */
  settled(call: number): void {
    this.#operations.delete(call);
  }

  clear(): void {
    this.#operations.clear();
  }

  /** Names of the operations whose answers will be lost. */
  unawaited(): string[] {
    return [...this.#operations.values()].filter(operation => AWAITED.includes(operation));
  }
}
