/** A naive model of a database: its pages in a list. Page sets are made of the difference between two of them. */
import {createHash} from 'node:crypto';
import fc from 'fast-check';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {DISK, type Disk} from '../../engine/copies/disk.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {PageSetWriter} from '../../engine/copies/page-set-writer.ts';

export const TIMELINE = '00112233445566778899aabbccddeeff';

/** The pages after each commit; the first is the state of commit 1. */
export type History = {pageBytes: number; states: Buffer[][]};

type Change = {at: number; offset: number; byte: number; isWhole: boolean};
type Step = {pages: number; changes: Change[]};

const change = fc.record({
  at: fc.nat(),
  offset: fc.nat(),
  byte: fc.integer({min: 1, max: 255}),
  isWhole: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.record({
  pages: fc.integer({min: 1, max: 40}),
  changes: fc.array(change, {maxLength: 6}),
});

/** Files of few pages that grow and shrink; with large pages a set has several chunks. */
export const histories: fc.Arbitrary<History> = fc
  .record({
    pageBytes: fc.constantFrom(512, 512, 512, 512, 512, 512, 65_536),
    steps: fc.array(step, {minLength: 2, maxLength: 12}),
  })
  .map(({pageBytes, steps}) => {
    const states: Buffer[][] = [];
    for (const one of steps) states.push(changed(states.at(-1) ?? [], one, pageBytes));
    return {pageBytes, states};
  });

function changed(before: Buffer[], {pages, changes}: Step, pageBytes: number): Buffer[] {
  const after = Array.from({length: pages}, (_, i) => Buffer.from(before[i] ?? Buffer.alloc(pageBytes)));
  for (const {at, offset, byte, isWhole} of changes) {
    const page = after[at % pages]!;
    if (isWhole) page.fill(byte);
    else page[offset % pageBytes]! ^= byte;
  }
  return after;
}

export function digestOf(pages: readonly Buffer[]): Buffer {
  const digest = Buffer.alloc(32);
  for (const [i, page] of pages.entries()) {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(i + 1);
    const one = createHash('sha256')
      .update(Buffer.concat([number, page]))
      .digest();
    for (let at = 0; at < 32; at++) digest[at]! ^= one[at]!;
  }
  return digest;
}

type Made = {first: number; last: number; timeline?: string; isDelta?: (page: number) => boolean};

/** The bytes of the set from the state before `first` to that of `last`; from 0 it is a base. */
export function setBytes({pageBytes, states}: History, {first, last, timeline, isDelta}: Made): Buffer {
  const before = first === 0 ? [] : states[first - 2]!;
  const after = states[last - 1]!;
  const sink = new MemorySink();
  const head = {
    timeline: timeline ?? TIMELINE,
    pageBytes,
    first,
    last,
    sequence: 10 * last,
    timeMs: 1_700_000_000_000 + last,
    pagesBefore: before.length,
    pagesAfter: after.length,
    digestBefore: digestOf(before),
  };
  const writer = new PageSetWriter(head, sink);
  for (const [i, page] of after.entries()) {
    const old = before[i];
    if (old?.equals(page)) continue;
    const delta = old !== undefined && isDelta?.(i + 1) === true;
    writer.add({
      number: i + 1,
      isDelta: delta,
      bytes: delta ? (page.map((byte, at) => byte ^ old[at]!) as Buffer) : page,
    });
  }
  writer.end(digestOf(after));
  return sink.bytes;
}

export function setOf(history: History, made: Made): PageSet {
  return new PageSet(sourceOf(setBytes(history, made)));
}

/** Pages that were not there before, and others changed in a byte. */
export const SMALL: History = {
  pageBytes: 512,
  states: [3, 3, 5, 4, 4].map((pages, i) =>
    Array.from({length: pages}, (_, at) => Buffer.alloc(512, at + 1).fill(i, 0, at === i % 3 ? 4 : 0)),
  ),
};

/** Without syncs, which only matter to a machine that ends. */
export const QUICK_DISK: Disk = {...DISK, sync: () => undefined, syncDirectory: () => undefined};
