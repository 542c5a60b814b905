/**
 * The end of a tenant's log that its worker holds: it can append to this log only. The other end is a process that has
 * the rights for the log of the cluster.
 */

/** Where a commit is in the log, as the log encodes it. */
export type LogPlace = string;

export type AppendDecision =
  | {readonly kind: 'committed'; readonly place: LogPlace}
  /** Another record has its place, for ever: another host owns the tenant. */
  | {readonly kind: 'refused'}
  /** The log has no space. It was not stored. */
  | {readonly kind: 'full'};

/** `unknown`: it stays pending, and `decided` resolves with what became of it. */
export type AppendOutcome = AppendDecision | {readonly kind: 'unknown'; readonly decided: Promise<AppendDecision>};

export interface Appender {
  /** Space that the log is known to have. */
  readonly freeBytes: number;
  /** Appends the next commits of the file. Call it again when the one before is committed. */
  append(pageSet: Buffer): Promise<AppendOutcome>;
}
