import {describe, expect, test} from 'vitest';
import {workerMessageIn} from '../../supervisor/processes/worker-message.ts';

const VALID = [
  {type: 'spare'},
  {type: 'heartbeat'},
  {type: 'egress_wanted'},
  {type: 'opened', egress: {allow: [], deny: []}},
  {type: 'egress_put', id: 1, body: '{}', signedGrant: 'x'},
  {type: 'node_wanted', id: 1, version: '22'},
  {type: 'open_failed', error: {code: 'session.storage_full', message: 'full'}},
  {type: 'open_failed', error: {code: 'op.storage_damaged', message: 'damaged', detail: {check: 'code'}}},
  {type: 'in_use', untilMs: null},
  {type: 'in_use', untilMs: 1_700_000_000_000.5},
  {type: 'needs_isolates'},
  {type: 'closed', nextDueMs: null, hasCode: false},
  {type: 'closed', nextDueMs: 1_700_000_000_000, hasCode: true},
  {type: 'metrics', id: 1, report: '[]', functions: '[]'},
  {type: 'copies_flushed', id: 1},
];

test.each(VALID.map(message => [message.type, message]))('%s is taken as it is', (_, message) => {
  expect(workerMessageIn({...message, more: 1} as {type: string; more: number})).toEqual(message);
});

describe('what no worker says is', () => {
  test.each([
    {type: 'opening'},
    {type: '__proto__'},
    {type: 'egress_put', id: 1, body: 1, signedGrant: 'x'},
    {type: 'egress_put', id: 1, body: '{}'},
    {type: 'egress_put', body: '{}', signedGrant: 'x'},
    {type: 'node_wanted', id: 1, version: '../22'},
    {type: 'node_wanted', id: {}, version: '22'},
    {type: 'open_failed'},
    {type: 'open_failed', error: {code: 'toString', message: ''}},
    {type: 'open_failed', error: {code: 'session.storage_full', message: {}}},
    {type: 'open_failed', error: {code: 'session.storage_full', message: '', detail: null}},
    {type: 'in_use', untilMs: '1'},
    {type: 'in_use'},
    {type: 'closed', nextDueMs: {}, hasCode: true},
    {type: 'closed', nextDueMs: 1e300, hasCode: true},
    {type: 'closed', nextDueMs: null},
    {type: 'metrics', id: 1, report: [], functions: '[]'},
  ])('%j', message => {
    expect(workerMessageIn(message)).toBeNull();
  });
});
