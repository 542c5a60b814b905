/** `svc journal`: records with what caused them, those of one request, and counts. */
import {beforeAll, beforeEach, expect, test} from 'vitest';
import {type Outcome, svc as run} from '../harness/command.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
  await tenant.insert('cities', {n: 1}, {'x-request-id': 'first'});
  await tenant.insert('cities', {n: 2}, {'x-request-id': 'second'});
});
beforeEach(() => service.showLogOnFailure());

const journal = (...args: string[]): Promise<Outcome> =>
  run(['journal', '--tenant', tenant.id, ...args], {SVC_URL: service.url, SVC_DATA: service.data});

test('prints the newest records first, with what caused each, or those of a request', async () => {
  const {code, stdout} = await journal();
  expect([code, stdout.trim().split('\n')]).toEqual([
    0,
    [
      expect.stringMatching(/^2 {2}.* {2}document\.inserted cities \S+ {2}by api request second$/),
      expect.stringMatching(/^1 {2}.* {2}by api request first$/),
    ],
  ]);
  expect((await journal('--request', 'first')).stdout).toMatch(/^1 {2}[^\n]*first\n$/);
});

test('--counts prints records by time and kind', async () => {
  const {code, stdout} = await journal('--counts');
  expect(code).toBe(0);
  const lines = stdout.trim().split('\n');
  expect(lines.every(line => /^20\S+Z {2}\d+ {2}insert \d+$/.test(line))).toBe(true);
  expect(lines.reduce((sum, line) => sum + Number(line.split('  ')[1]), 0)).toBe(2);
});
