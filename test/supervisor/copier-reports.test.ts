/** What the server shows of its backups while the copier does not run or does not answer. */
import {expect, test} from 'vitest';
import {COPIER_METRICS} from '../../shared/metrics/copier-metrics.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Metrics} from '../../shared/metrics/metrics.ts';
import {CopierReports} from '../../supervisor/metrics/copier-reports.ts';

function reportOf(ageSeconds: number, successSeconds: number, puts: number): MetricJson[] {
  const metrics = new Metrics(COPIER_METRICS);
  metrics.measure('svc_backup_age_seconds', () => ageSeconds);
  metrics.measure('svc_backup_last_success_timestamp_seconds', () => successSeconds);
  metrics.add('svc_backup_puts_total', puts);
  return metrics.report();
}

function shown(report: MetricJson[]): Record<'age' | 'success' | 'puts', number | undefined> {
  const value = (name: string): number | undefined => report.find(one => one.name === name)?.values[0]?.value;
  return {
    age: value('svc_backup_age_seconds'),
    success: value('svc_backup_last_success_timestamp_seconds'),
    puts: value('svc_backup_puts_total'),
  };
}

test('while the copier hangs or is gone the age grows, and the last success and the counts stay', () => {
  let nowMs = 1_000_000;
  const reports = new CopierReports(() => nowMs, null);
  expect(shown(reports.taken(reportOf(0, 1_000, 3)))).toEqual({age: 0, success: 1_000, puts: 3});
  nowMs += 90_000;
  expect(shown(reports.taken(null)), 'it hangs').toEqual({age: 90, success: 1_000, puts: 3});
  reports.ended();
  nowMs += 90_000;
  expect(shown(reports.taken(null)), 'it is gone').toEqual({age: 180, success: 1_000, puts: 3});
  expect(shown(reports.taken(reportOf(200, 1_000, 2))), 'another one').toEqual({age: 200, success: 1_000, puts: 5});
});

test('a copier that never runs has an age, and the last success of the server before', () => {
  let nowMs = 1_000_000;
  const reports = new CopierReports(() => nowMs, 400_000);
  nowMs += 600_000;
  expect(shown(reports.taken(null))).toMatchObject({age: 600, success: 400});
  expect(reports.lastSuccessMs).toBe(400_000);
});
