/** What the supervisor knows of the workers that have a tenant, for metrics and for routers that start. */
import type {TenantSuspects} from '../../shared/ipc/control.ts';
import type {TenantEntry} from './tenant-entry.ts';
import type {Reporter} from './worker-metric-sums.ts';

type Entries = Iterable<TenantEntry>;

export function workerPids(entries: Entries): number[] {
  return [...entries].flatMap(({worker}) => worker?.child.pid ?? []);
}

/** Metrics of each worker that serves, as JSON; null: it does not answer in time. */
export function workerReports(entries: Entries): {worker: Reporter; report: Promise<string | null>}[] {
  const serving = [...entries].filter(({lifecycle: {state}}) => state === 'awake' || state === 'releasing');
  return serving.flatMap(({worker, reporter}) =>
    worker === null || reporter === null ? [] : [{worker: reporter, report: worker.report()}],
  );
}

/** Suspected calls of all tenants that have any. */
export function suspectsOf(entries: Entries): TenantSuspects[] {
  return [...entries].flatMap(({id, crashes}) => {
    const suspects = crashes?.suspects() ?? null;
    return suspects === null ? [] : [{tenant: id, ...suspects}];
  });
}
