/** The points in time of a backup as the Backups pages list and choose them. */
import {expect, test} from 'vitest';
import {choiceOf, endOf, localText, notesOf, proofOf, rowsOf, stateOf} from '../../dashboard/pages/backups/points.ts';
import {isLookOf, lookName, lookOf} from '../../dashboard/parts/look.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';

const AT = Date.UTC(2026, 10, 23, 17, 5, 9, 250);
const point = (at: number, sequence: number) => ({at, sequence, commit: sequence + 1});
const POINTS = [point(AT + 9_000, 12), point(AT + 4_000, 11), point(AT, 10)];

test('deployments and tasks stand below the commits of their time, and older ones are left to the next page', () => {
  const notes = [
    {at: AT + 4_000, text: 'deployment 2: rename'},
    {at: AT - 1, text: 'deployment 1'},
  ];
  expect(rowsOf(POINTS, notes, true).map(row => row.point?.sequence ?? row.note)).toEqual([
    12,
    11,
    'deployment 2: rename',
    10,
  ]);
  const newer = [{at: AT + 10_000, text: 'deployment 3'}];
  expect(rowsOf(POINTS, newer, true)[0]!.note).toBe('deployment 3');
  expect(rowsOf(POINTS, newer, false)).toHaveLength(POINTS.length);
});

test('a deployment that was never active has no place among the points', () => {
  const deployment = {id: 1, activated_at: null, message: null} as never;
  const task = {type: 'delete', query: {table: 'cities'}, changed: 1, created_at: AT} as never;
  expect(notesOf([deployment], [task])).toEqual([{at: AT, text: 'delete in cities: 1 document'}]);
});

test('a chosen point is restored exactly, and a typed time with all commits of its second', () => {
  const [row] = rowsOf(POINTS, [], true);
  expect(choiceOf(row!)).toEqual({text: localText(AT + 9_000), point: POINTS[0]});
  expect(endOf(localText(AT))).toBe(AT - 250 + 999);
  expect(endOf('')).toBeNull();
});

test('beside a deployment the choice is the second before it', () => {
  const [row] = rowsOf([], [{at: AT, text: 'deployment 1'}], true).concat(
    rowsOf([point(AT - 60_000, 1)], [{at: AT, text: 'deployment 1'}], true),
  );
  const {text, point: chosen} = choiceOf(row!);
  expect({chosen, end: endOf(text)! < AT}).toEqual({chosen: null, end: true});
});

test('the name of a past state is a tenant id with the time in UTC, and is recognised', () => {
  expect(lookName('acme', AT)).toBe('acme-2026-11-23-1705');
  expect(lookOf('acme-2026-11-23-1705')).toEqual({of: 'acme', at: Date.UTC(2026, 10, 23, 17, 5)});
  const long = 'x'.repeat(64);
  expect(lookName(long, AT)).toMatch(TENANT_ID);
  expect(isLookOf(lookName(long, AT), long)).toBe(true);
  expect(isLookOf('acme-2026-11-23-1705', 'acm')).toBe(false);
  for (const name of ['acme', 'acme-2026-11-23', 'acme-2026-13-23-1705']) expect(lookOf(name)).toBeNull();
});

test('a copy that is late, missing or at fault looks so', () => {
  const tenant = {id: 'a', newest: POINTS[0]!, age_ms: 0, spool_bytes: 0, fault: null, last_proof: null};
  const fault = {at: AT, kind: 'damaged', message: 'm'};
  expect(stateOf(tenant, 1_000)).toEqual({text: 'complete', tone: 'good', behindMs: 0});
  expect(stateOf({...tenant, age_ms: 2_000}, 1_000).tone).toBe('good');
  expect(stateOf({...tenant, age_ms: 600_000}, 1_000).tone).toBe('bad');
  expect(stateOf({...tenant, age_ms: 600_000}, 3_600_000).tone).toBe('good');
  expect(stateOf({...tenant, newest: null}, 1_000)).toMatchObject({text: 'no copy yet', tone: 'warn'});
  expect(stateOf({...tenant, fault}, 1_000)).toMatchObject({text: 'stopped: damaged', tone: 'bad'});
  const proof = {at: AT, passed: false, point: null, finding: 'it is short', object: 'packs/1'};
  expect(proofOf(proof)).toEqual({text: 'failed', tone: 'bad', finding: 'packs/1: it is short'});
  expect(proofOf(null).text).toBe('never');
});
