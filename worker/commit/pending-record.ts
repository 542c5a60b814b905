/** What a write has done so far, as texts of its journal record, and the record that they make. */
import {JOURNAL_VERSION} from '../../shared/journal-chain.ts';

export class PendingRecord {
  readonly #events: string[] = [];
  readonly #writes: string[] = [];
  /** The job or cron tick whose run this is. */
  scheduledExecutionId: string | null;

  constructor(scheduledExecutionId: string | null = null) {
    this.scheduledExecutionId = scheduledExecutionId;
  }

  /** Nothing has been done: there will be no record. */
  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** @param event its JSON */
  event(event: string): void {
    this.#events.push(event);
  }

  /** @param write its JSON: what a document has become */
  write(write: string): void {
    this.#writes.push(write);
  }

  text(sequence: number, timestamp: number): string {
    return (
      `{"version":${JOURNAL_VERSION},"sequence":${sequence},"timestamp":${timestamp},"events":[${this.#events.join(',')}],` +
      `"writes":[${this.#writes.join(',')}],"scheduled_execution_id":${JSON.stringify(this.scheduledExecutionId)}}`
    );
  }
}
