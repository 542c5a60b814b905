/** When service control is loaded, and what happens when that fails. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {ControlGate} from '../../worker/control/gate.ts';
import type {Connection} from '../../worker/storage/connection.ts';
import {openWriter} from '../../worker/storage/database.ts';

type GateParts = ConstructorParameters<typeof ControlGate>[0];

let directory: string;
let db: Connection;
let gate: ControlGate;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-gate-'));
  db = openWriter(join(directory, 'tenant.sqlite'));
  const parts = {directory, db, log: createLogger({}, {write: () => undefined}), clock: Date.now};
  gate = new ControlGate(parts as unknown as GateParts, () => undefined);
});
afterEach(() => {
  db.close();
  rmSync(directory, {recursive: true});
});

test('after a load that failed the next need tries again', async () => {
  db.exec('ALTER TABLE services RENAME TO elsewhere');
  await expect(gate.loaded()).rejects.toThrow('no such table: services');
  db.exec('ALTER TABLE elsewhere RENAME TO services');
  expect((await gate.loaded()).services.all()).toEqual([]);
  await gate.close();
});

test('a load that failed does not keep the tenant from being closed in order', async () => {
  db.exec('DROP TABLE services');
  const failed = expect(gate.loaded()).rejects.toThrow('no such table: services');
  await gate.close();
  await failed;
});
