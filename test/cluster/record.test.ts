import {expect, test} from 'vitest';
import {PART_BYTES} from '../../cluster/limits.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import {decodeRecord, encodeRecord, followFault, type LogPosition, nextHead, sha256} from '../../cluster/log/record.ts';
import {commitBody} from './harness/commit-body.ts';

const NOTE = Buffer.from('host a');
const openHead = nextHead(null, {kind: 'open', epoch: 3, body: {bytes: NOTE.length, sha256: sha256(NOTE)}}, []);
const OPEN: LogPosition = {kind: 'open', epoch: 3, n: 1, sequence: 7, digest: openHead.digest};
const BODY = commitBody('one');
const commitHead = nextHead(OPEN, {kind: 'commit', epoch: 3, body: {bytes: BODY.length, sha256: sha256(BODY)}}, []);
const COMMIT = encodeRecord(commitHead, BODY);
const LARGE = {kind: 'commit', epoch: 3, body: {bytes: PART_BYTES + 1, sha256: sha256(BODY)}} as const;
const PARTS = [
  {sequence: 9, bytes: PART_BYTES, sha256: sha256(BODY)},
  {sequence: 8, bytes: 1, sha256: sha256(BODY)},
];

test('a record is read as it was written, with its body or the list of its parts', () => {
  expect(decodeRecord(encodeRecord(openHead, NOTE), 7)).toEqual({head: openHead, position: OPEN, body: NOTE});
  expect(decodeRecord(COMMIT, 8)).toMatchObject({head: commitHead, body: BODY});
  const head = nextHead(OPEN, LARGE, PARTS);
  expect(decodeRecord(encodeRecord(head, Buffer.alloc(0)), 10)).toMatchObject({head, body: null});
});

test('a changed byte is refused by the record itself, or by the record before it', () => {
  for (let at = 0; at < COMMIT.length; at++) {
    const bytes = Buffer.from(COMMIT);
    bytes[at]! ^= 1;
    const refusal = (() => {
      try {
        return followFault(OPEN, decodeRecord(bytes, 8).head);
      } catch (error) {
        return error;
      }
    })();
    if (typeof refusal !== 'string') expect(refusal, `byte ${at}`).toBeInstanceOf(LogError);
  }
});

test.each([
  ['too few bytes', COMMIT.subarray(0, 100), 8],
  ['an end that is missing', COMMIT.subarray(0, -1), 8],
  ['bytes behind its end', Buffer.concat([COMMIT, Buffer.alloc(1)]), 8],
  ['a place before the record that it follows', COMMIT, 7],
  ['parts after it', encodeRecord(nextHead(OPEN, LARGE, PARTS), Buffer.alloc(0)), 9],
  ['a part twice', encodeRecord(nextHead(OPEN, LARGE, [PARTS[0]!, {...PARTS[1]!, sequence: 9}]), Buffer.alloc(0)), 10],
  ['nothing', Buffer.alloc(0), 8],
])('a record with %s is damaged', (_, bytes, sequence) => {
  expect(() => decodeRecord(bytes, sequence)).toThrow(expect.objectContaining({code: 'damaged'}));
});

test('a body that is no page set is damaged', () => {
  const body = Buffer.from('x'.repeat(200));
  const head = nextHead(OPEN, {kind: 'commit', epoch: 3, body: {bytes: body.length, sha256: sha256(body)}}, []);
  expect(() => decodeRecord(encodeRecord(head, body), 8)).toThrow('has a body that is no page set');
});

test.each<[string, LogPosition | null, Partial<typeof commitHead>, string]>([
  ['first, and no open', null, {n: 1, sequenceBefore: 0, digestBefore: Buffer.alloc(32)}, 'is the first one'],
  ['of another number', OPEN, {n: 3}, 'is number 3 after number 1'],
  ['after another place', OPEN, {sequenceBefore: 6}, 'follows 6'],
  ['after another digest', OPEN, {digestBefore: Buffer.alloc(32)}, 'follows another record'],
  ['of another epoch', OPEN, {epoch: 4}, 'is of epoch 4 after epoch 3'],
  ['an open of the same epoch', OPEN, {kind: 'open'}, 'opens epoch 3 after epoch 3'],
  ['after a close', {...OPEN, kind: 'close'}, {}, 'is a commit after a close'],
])('a record %s does not follow', (_, before, change, fault) => {
  expect(followFault(OPEN, commitHead)).toBeNull();
  expect(followFault(before, {...commitHead, ...change})).toContain(fault);
});
