/**
 * The run of a query on its way from its thread to the worker: JSON of everything but the value, and the value. The
 * process of the isolates passes both on and parses neither.
 */
import type {Outcome} from '../execution.ts';
import type {SyncResult} from '../isolate/sync-runner.ts';

/** `sequence`: that of the newest record in its snapshot. */
export type QueryRun = SyncResult & {sequence: number};

export type PackedRun = readonly [run: string, value: string];

/** Without the value. */
export type SentOutcome = {ok: true} | Extract<Outcome, {ok: false}>;
export type SentRun = Omit<QueryRun, 'outcome'> & {outcome: SentOutcome};

export function packedRun(run: QueryRun): PackedRun {
  const sent: SentRun = {...run, outcome: withoutValue(run.outcome)};
  return [JSON.stringify(sent), textOf(run.outcome)];
}

export function withoutValue(outcome: Outcome): SentOutcome {
  return outcome.ok ? {ok: true} : outcome;
}

export function textOf(outcome: Outcome): string {
  return outcome.ok ? outcome.value : '';
}
