/** The metrics of a tenant that are read when they are collected. */
import {statSync} from 'node:fs';
import type {StorageQuota} from '../engine/commit/storage-quota.ts';
import type {CronReader} from '../engine/scheduler/crons.ts';
import type {ScheduleRunner} from '../engine/scheduler/runner.ts';
import type {Catalog} from '../engine/storage/catalog.ts';
import type {WorkerMetrics} from '../shared/metrics/worker-metrics.ts';

export type MeasuredTenant = {
  tenant: string;
  /** Of its file. */
  path: string;
  journalHead: () => number;
  journalRecords: () => number;
  quota: StorageQuota;
  catalog: Catalog;
  crons: CronReader;
  schedule: ScheduleRunner;
  lagSeconds: () => number;
  /** Of the log of the cluster behind the file. */
  logLagSeconds: () => number;
};

export function measureTenant(metrics: WorkerMetrics, measured: MeasuredTenant): void {
  const {tenant, path, quota, catalog, crons, schedule} = measured;
  metrics.measure('svc_journal_head', measured.journalHead);
  metrics.measure('svc_journal_records', measured.journalRecords);
  metrics.measure('svc_tenant_storage_bytes', () => [[{tenant}, quota.usedBytes]]);
  metrics.measure('svc_documents', () => catalog.documents);
  metrics.measure('svc_storage_file_bytes', () => sizeOf(path));
  metrics.measure('svc_storage_wal_bytes', () => sizeOf(`${path}-wal`));
  metrics.measure('svc_cluster_lag_seconds', measured.logLagSeconds);
  metrics.measure('svc_worker_event_loop_lag_seconds', measured.lagSeconds);
  // Only tenants that are awake and have failing crons appear, so the series are few.
  metrics.measure('svc_crons_failing', () => {
    const failing = crons.failing();
    return failing > 0 || schedule.cronFailures > 0 ? [[{tenant}, failing]] : [];
  });
  metrics.measure('svc_cron_failures_total', () => {
    const {cronFailures} = schedule;
    return cronFailures > 0 || crons.failing() > 0 ? [[{tenant}, cronFailures]] : [];
  });
}

function sizeOf(path: string): number {
  return statSync(path, {throwIfNoEntry: false})?.size ?? 0;
}
