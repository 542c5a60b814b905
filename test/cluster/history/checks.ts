/**
 * Judges the notes of clients by the journal, which orders the writes of a tenant. Every read must then fit between two
 * records of it, and the order must agree with time: what was over before something else began comes before it. Since the
 * order of writes is known, assigning each read the earliest place that fits finds an order if there is one.
 */
import type {JournalRecord} from '../../../shared/protocol/journal.ts';
import {canonical} from '../../harness/journal.ts';
import type {Doc} from '../../harness/tenant.ts';
import {keyOf, markerOf, type Notes, type Read, type Write} from './notes.ts';

type Version = {readonly sequence: number; readonly text: string};
/** Sequences after which the documents of a read were as it saw them. */
type Span = {readonly from: number; readonly to: number};

export class Order {
  /** Of each document, in order. */
  readonly #versions = new Map<string, Version[]>();
  /** Sequences of the records that have the marker of a write. */
  readonly #sequences = new Map<string, number[]>();
  readonly #runs = new Map<string, number>();
  readonly violations: string[] = [];

  constructor(records: readonly JournalRecord[]) {
    let expected = 1;
    for (const record of records) {
      const {sequence, writes, scheduled_execution_id: run} = record;
      if (sequence !== expected) this.violations.push(`the journal has ${sequence} where ${expected} had to be`);
      expected = sequence + 1;
      if (run !== null) {
        const before = this.#runs.get(run);
        if (before !== undefined) this.violations.push(`${run} ran in ${before} and again in ${sequence}`);
        this.#runs.set(run, sequence);
      }
      const markers = new Set<string>();
      for (const {table, id, document} of writes) {
        const marker = document === null ? null : markerOf(document);
        if (marker !== null) markers.add(marker);
        const key = keyOf(table, id);
        const versions = this.#versions.get(key);
        const version = {sequence, text: textIn(document as Doc | null)};
        if (versions === undefined) this.#versions.set(key, [version]);
        else versions.push(version);
      }
      for (const marker of markers) this.#sequences.set(marker, [...this.sequencesOf(marker), sequence]);
    }
  }

  sequencesOf(marker: string): readonly number[] {
    return this.#sequences.get(marker) ?? [];
  }

  get markers(): Iterable<string> {
    return this.#sequences.keys();
  }

  /** Null: they were never so at the same time. */
  spanOf(documents: ReadonlyMap<string, Doc>): Span | null {
    let from = 0;
    let to = Number.POSITIVE_INFINITY;
    for (const [key, document] of documents) {
      const versions = this.#versions.get(key) ?? [];
      const text = textIn(document);
      const found = versions.findIndex(version => version.text === text);
      if (found === -1) return null;
      from = Math.max(from, versions[found]!.sequence);
      to = Math.min(to, (versions[found + 1]?.sequence ?? Number.POSITIVE_INFINITY) - 1);
    }
    return from <= to ? {from, to} : null;
  }
}

/** Functions are not shown when a document was updated. */
function textIn(document: Doc | null): string {
  if (document === null) return 'deleted';
  const {_updateTime, ...fields} = document;
  return canonical(fields);
}

/** One sentence each. */
export function violationsOf(notes: Notes, records: readonly JournalRecord[]): string[] {
  const order = new Order(records);
  return [
    ...notes.unexpected,
    ...order.violations,
    ...lostOrTwice(notes, order),
    ...outOfOrder(notes, order),
    ...backward(notes, order),
  ].map(text => `${notes.tenant}: ${text}`);
}

/** An acknowledged write is there once, an unknown one at most once, and nothing else is there. */
function lostOrTwice({writes}: Notes, order: Order): string[] {
  const found: string[] = [];
  for (const write of writes.values()) {
    const times = order.sequencesOf(write.marker).length;
    const isRight = write.outcome === 'unknown' ? times <= 1 : times === (write.outcome === 'acknowledged' ? 1 : 0);
    if (!isRight) found.push(`${textOf(write)} is there ${times} times`);
  }
  for (const marker of order.markers) if (!writes.has(marker)) found.push(`${marker} was never written`);
  return found;
}

type Operation = {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly span: Span;
  readonly what: () => string;
};

/** The order of the journal and the times of the clients contradict each other. */
function outOfOrder({writes, reads, subscriptions}: Notes, order: Order): string[] {
  const found: string[] = [];
  const operations: Operation[] = [];
  const begins: {sequence: number; write: Write}[] = [];
  for (const write of writes.values()) {
    const [sequence] = order.sequencesOf(write.marker);
    if (sequence === undefined) continue;
    begins.push({sequence, write});
    if (write.outcome !== 'acknowledged' || write.isJob) continue;
    operations.push({...write, span: {from: sequence, to: sequence}, what: () => textOf(write)});
  }
  // A result can be under way while a write is acknowledged, so it only has to be newer than its connection.
  for (const read of [...reads, ...subscriptions.flatMap(({results}) => results)]) {
    const span = order.spanOf(read.documents);
    if (span === null) found.push(`${readText(read)} is no state that the tenant ever had`);
    else operations.push({...read, span, what: () => `${readText(read)} of sequence ${span.from} to ${span.to}`});
  }
  const begun = latestBegins(begins);

  // Every place that an operation has taken, by the time at which it was over.
  const starts = [...operations].sort((a, b) => a.beganMs - b.beganMs);
  const ends = [...operations].sort((a, b) => a.endedMs - b.endedMs);
  const floors = new Map<Operation, number>();
  let floor = 0;
  let floorOf = 'nothing';
  const reasons = new Map<Operation, string>();
  let next = 0;
  for (const operation of ends) {
    for (; next < starts.length && starts[next]!.beganMs <= operation.endedMs; next++) {
      floors.set(starts[next]!, floor);
      reasons.set(starts[next]!, floorOf);
    }
    const least = floors.get(operation)!;
    const {span, what} = operation;
    if (least > span.to) found.push(`${what()} came after ${reasons.get(operation)}`);
    const place = Math.max(least, span.from);
    const latest = begun(place);
    if (latest !== null && latest.beganMs > operation.endedMs) found.push(`${what()} saw ${textOf(latest)}`);
    if (place > floor) {
      floor = place;
      floorOf = `${what()} at ${place}`;
    }
  }
  return found;
}

/** A connection got an older version after a newer one. */
function backward({subscriptions}: Notes, order: Order): string[] {
  const found: string[] = [];
  for (const {results, least: seen} of subscriptions) {
    let least = seen;
    for (const result of results) {
      const span = order.spanOf(result.documents);
      if (span === null) continue; // reported already
      if (span.to < least) found.push(`${readText(result)} came after sequence ${least} on its connection`);
      least = Math.max(least, span.from);
    }
  }
  return found;
}

/** @returns of all writes up to a sequence, the one that began last */
function latestBegins(begins: {sequence: number; write: Write}[]): (sequence: number) => Write | null {
  begins.sort((a, b) => a.sequence - b.sequence);
  const latest: {sequence: number; write: Write}[] = [];
  for (const {sequence, write} of begins) {
    const before = latest.at(-1)?.write;
    latest.push({sequence, write: before !== undefined && before.beganMs > write.beganMs ? before : write});
  }
  return sequence => {
    let low = 0;
    let high = latest.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (latest[middle]!.sequence <= sequence) low = middle + 1;
      else high = middle;
    }
    return latest[low - 1]?.write ?? null;
  };
}

function textOf({marker, outcome, answers, beganMs, endedMs}: Write): string {
  return `${marker} (${outcome}, ${span(beganMs, endedMs)}: ${answers.join(', ')})`;
}

function readText({by, beganMs, endedMs, documents}: Read): string {
  const what = [...documents].map(([key, document]) => `${key} ${markerOf(document)}`).join(' ');
  return `a ${by} (${span(beganMs, endedMs)}: ${what})`;
}

function span(beganMs: number, endedMs: number): string {
  return `${Math.round(beganMs)} to ${Number.isFinite(endedMs) ? Math.round(endedMs) : 'never'} ms`;
}
