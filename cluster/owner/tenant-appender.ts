/** Appends the commits of one tenant for one epoch. It is the other end of a worker's `Appender`. */
import {sourceOf} from '../../engine/copies/bytes.ts';
import type {AppendDecision, Appender, AppendOutcome, LogPlace} from '../../engine/replication/appender.ts';
import type {LogPosition} from '../log/record.ts';
import type {AppendDecision as LogDecision, TenantLog} from '../log/tenant-log.ts';
import {encodePlace} from './place.ts';

export type TenantAppenderParts = {
  readonly log: TenantLog;
  /** The record that opened the log for this owner. */
  readonly opened: LogPosition;
  /** Its note. */
  readonly note: string;
  /** Space of the log, as far as it is known. */
  readonly freeBytes: () => number;
  /** So much less is left. */
  readonly spend?: (bytes: number) => void;
  /** Ends appends that are not decided: the tenant has no owner here any more. */
  readonly signal?: AbortSignal;
};

export class TenantAppender implements Appender {
  readonly #parts: TenantAppenderParts;
  #tail: LogPosition;

  constructor(parts: TenantAppenderParts) {
    this.#parts = parts;
    this.#tail = parts.opened;
  }

  get freeBytes(): number {
    return this.#parts.freeBytes();
  }

  async append(pageSet: Buffer): Promise<AppendOutcome> {
    const {log, opened, signal, spend} = this.#parts;
    spend?.(pageSet.length);
    const entry = {kind: 'commit', epoch: opened.epoch, body: sourceOf(pageSet)} as const;
    const outcome = await log.append(this.#tail, entry, signal);
    if (outcome.kind !== 'unknown') return this.#decided(outcome);
    return {kind: 'unknown', decided: outcome.decided.then(decision => this.#decided(decision))};
  }

  /** The file is as the log ends, and no commit follows. @returns the place of the record; null: the log does not have it */
  async close(): Promise<LogPlace | null> {
    const {log, opened, note, signal} = this.#parts;
    const entry = {kind: 'close', epoch: opened.epoch, body: sourceOf(Buffer.from(note))} as const;
    const outcome = await log.append(this.#tail, entry, signal);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    return decision.kind === 'committed' ? encodePlace(decision.position, note) : null;
  }

  #decided(decision: LogDecision): AppendDecision {
    switch (decision.kind) {
      case 'committed':
        this.#tail = decision.position;
        return {kind: 'committed', place: encodePlace(decision.position, this.#parts.note)};
      case 'full':
        return decision;
      case 'refused':
      case 'unknowable':
        return {kind: 'refused'};
      case 'abandoned':
        throw new Error('the append was ended before it was decided');
    }
  }
}
