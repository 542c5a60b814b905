/** Describes how a query was read, for `explain: true`. */
import {performance} from 'node:perf_hooks';
import type {Explained} from '../../shared/protocol/queries.ts';
import {type Filter, isTest} from './filter.ts';
import type {Plan, PlannedPath} from './plan.ts';

type Reads = Explained['reads'][number];

export type Explanation = {
  readonly plan: Plan;
  /** Documents. */
  readonly read: number;
  readonly returned: number;
};

/** The members after the result in its JSON. @param startedMs by the clock of `performance.now` */
export function explainedText({plan, read, returned}: Explanation, startedMs: number): string {
  const explained: Explained = {
    reads: readsOf(plan.paths),
    is_sorted: !plan.ordered,
    read,
    returned,
    time_ms: Math.round((performance.now() - startedMs) * 1_000) / 1_000,
  };
  return `,"explain":${JSON.stringify(explained)}`;
}

/** Merged ranges of one index are reported together. */
function readsOf(paths: readonly PlannedPath[]): Reads[] {
  const reads: Reads[] = [];
  let before: PlannedPath | null = null;
  for (const planned of paths) {
    const last = reads.at(-1);
    if (before !== null && last !== undefined && planned.index !== null && planned.used === before.used) {
      last.stretches += planned.path.rangeScans.length;
    } else reads.push(readOf(planned));
    before = planned;
  }
  return reads;
}

function readOf({path, passes, index, used}: PlannedPath): Reads {
  const [rangeScan] = path.rangeScans;
  return {
    by: index !== null ? 'index' : rangeScan?.kind === 'id' ? 'ids' : 'table',
    index: index?.name ?? null,
    fields: index?.fields ?? [],
    range: used.map(clauseOf),
    stretches: path.rangeScans.length,
    is_filtered: passes !== null,
  };
}

function clauseOf(filter: Filter): object {
  return isTest(filter) ? {field: filter.field, op: filter.op, value: filter.value} : {or: filter.branches.length};
}
