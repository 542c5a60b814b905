/**
 * What was run from this tab, newest first. It is kept in the tab's session storage, so it survives a reload, is gone
 * with the tab, and belongs to one sign-in.
 */
import {RUN_RESULT_CHARS_MAX, RUNS_CHARS_MAX, RUNS_MAX} from '../../limits.ts';
import type {Identity} from './identities.ts';

export type Reply =
  | {readonly status: 'success'; readonly value: unknown; readonly logLines?: readonly string[]}
  | {readonly status: 'error'; readonly errorMessage: string; readonly logLines?: readonly string[]};

export type PastRun = {
  /** Unique in the tab. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly path: string;
  readonly kind: string;
  readonly args: unknown;
  readonly identity: Identity | null;
  readonly ms: number;
  /** Null: no answer arrived. */
  readonly requestId: string | null;
  /** Null: it was too long to keep. */
  readonly reply: Reply | null;
  readonly isError: boolean;
};

const keyOf = (tenant: string) => `svc.runs.${tenant}`;

/** @param holder who is signed in: the runs of another one are not shown */
export function pastRuns(tenant: string, holder: string): readonly PastRun[] {
  try {
    const {by, runs} = JSON.parse(sessionStorage.getItem(keyOf(tenant)) ?? '{}') as {by?: string; runs?: PastRun[]};
    return by === holder && Array.isArray(runs) ? runs : [];
  } catch {
    return []; // Something else wrote there.
  }
}

/** @returns all, with this one first */
export function addRun(tenant: string, holder: string, run: PastRun): readonly PastRun[] {
  const isLong = JSON.stringify(run.reply).length > RUN_RESULT_CHARS_MAX;
  let runs = [{...run, reply: isLong ? null : run.reply}, ...pastRuns(tenant, holder)].slice(0, RUNS_MAX);
  let text = JSON.stringify({by: holder, runs});
  while (text.length > RUNS_CHARS_MAX && runs.length > 1) {
    runs = runs.slice(0, Math.ceil(runs.length / 2));
    text = JSON.stringify({by: holder, runs});
  }
  if (text.length <= RUNS_CHARS_MAX) sessionStorage.setItem(keyOf(tenant), text);
  return runs;
}
