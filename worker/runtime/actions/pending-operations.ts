/** The operations that an action has started and that are not answered: no more than so many, and told of when it ends. */
import {ACTION_CALLS_MAX} from '../guest/limits.ts';
import {MAIN_OPERATIONS, refusal} from './action-message.ts';

/** Of these a forgotten one is worth a warning. */
const AWAITED = [...MAIN_OPERATIONS, 'fetch'] as readonly string[];

export class PendingOperations {
  /** Call → operation. */
  readonly #operations = new Map<number, string>();

  get size(): number {
    return this.#operations.size;
  }

  /** User code's side counts too; what it counts could be tampered with. @returns a host answer that refuses it; null: it has begun */
  begin(call: number, operation: string, isFree = false): string | null {
    if (!isFree && this.#operations.size >= 2 * ACTION_CALLS_MAX) return refusal('Too many concurrent operations');
    if (this.#operations.has(call)) return refusal('an operation of this number is under way');
    this.#operations.set(call, operation);
    return null;
  }

  /** One that had begun. */
  settled(call: number): void {
    this.#operations.delete(call);
  }

  clear(): void {
    this.#operations.clear();
  }

  /** Names of the operations whose answers nobody will hear. */
  unawaited(): string[] {
    return [...this.#operations.values()].filter(operation => AWAITED.includes(operation));
  }
}
