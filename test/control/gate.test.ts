/** When service control is loaded, and what happens when that fails. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {ControlGate} from '../../worker/control/gate.ts';
import {serviceRecords} from '../../worker/control/record-table.ts';
import {until} from '../harness/until.ts';

type GateParts = ConstructorParameters<typeof ControlGate>[0];

let directory: string;
let db: Connection;
let gate: ControlGate;
let metrics: WorkerMetrics;
/** Lines of the log. */
let failures: unknown[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-gate-'));
  failures = [];
  db = openWriter(join(directory, 'tenant.sqlite'));
  metrics = new WorkerMetrics();
  const groups = {isPaused: false};
  const parts = {
    directory,
    db,
    groups,
    metrics,
    log: createLogger({}, {write: line => failures.push(line)}),
    clock: Date.now,
  };
  gate = new ControlGate(parts as unknown as GateParts, () => undefined);
});
afterEach(() => {
  db.close();
  rmSync(directory, {recursive: true});
});

const services = () => metrics.report().find(({name}) => name === 'svc_services')!.values;

test('after a load that failed the next need tries again', async () => {
  db.exec('ALTER TABLE services RENAME TO elsewhere');
  await expect(gate.loaded()).rejects.toThrow('no such table: services');
  db.exec('ALTER TABLE elsewhere RENAME TO services');
  expect((await gate.loaded()).services.all()).toEqual([]);
  await gate.close();
});

test('a tenant with services loads it again by itself when it failed', async () => {
  serviceRecords(db).put('s', JSON.stringify({name: 's', state: 'stopped', desired_state: 'stopped', created_at: 1}));
  db.exec('ALTER TABLE control_records RENAME TO elsewhere');
  gate.warm();
  await until('it failed', () => failures.length > 0);
  expect(services()).toEqual([]);
  db.exec('ALTER TABLE elsewhere RENAME TO control_records');
  await until('it is loaded', () => services()[0]?.labels.state === 'stopped');
  await gate.close();
});

test('a load that failed does not keep the tenant from being closed in order', async () => {
  db.exec('DROP TABLE services');
  const failed = expect(gate.loaded()).rejects.toThrow('no such table: services');
  await gate.close();
  await failed;
});
