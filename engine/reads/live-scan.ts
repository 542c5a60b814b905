/** Evaluates a live query on a scan thread, in batches that the main thread applies one at a time. */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {SCAN_BATCH_ENTRIES, SCAN_BATCH_RESULT_CHARS} from '../limits.ts';
import {parseDocument} from '../storage/document.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import {eachMatch} from './count.ts';
import {find} from './find.ts';
import {type Order, orderKey} from './order.ts';
import type {ReadBudget} from './read-budget.ts';
import type {LiveBatch, LiveScan} from './scan-message.ts';
import {type Show, showOf} from './select.ts';

type Shown = {rows: DocumentRow[]; order: Order; show: Show; isComplete: boolean};
/** For a query that counts. */
type Numbers = {docs: number[]; isComplete: true};
export type LiveRows = Shown | Numbers;

/** @throws op.invalid_input 400, op.too_large 413 */
export function liveRows(reader: QueryReader, {query, most, reserve}: LiveScan, readBudget: ReadBudget): LiveRows {
  if (query.count === true) {
    const docs: number[] = [];
    eachMatch(reader, query, readBudget, doc => docs.push(doc));
    return {docs, isComplete: true};
  }
  const wanted = most === null ? Number.POSITIVE_INFINITY : most + reserve;
  try {
    const {rows, order} = find(reader, query, wanted, null, readBudget);
    return {rows, order, show: showOf(query), isComplete: rows.length < wanted};
  } catch (caught) {
    // Only the reserve may be too large.
    if (!(caught instanceof ServiceError) || caught.code !== 'op.too_large' || reserve === 0) throw caught;
    return liveRows(reader, {kind: 'live', query, most, reserve: 0}, readBudget);
  }
}

export function liveBatches(found: LiveRows): Generator<LiveBatch, void, void> {
  return 'docs' in found ? batchesOfNumbers(found) : batchesOfRows(found);
}

function* batchesOfNumbers({docs}: Numbers): Generator<LiveBatch, void, void> {
  for (let from = 0; from === 0 || from < docs.length; from += SCAN_BATCH_ENTRIES) {
    yield {...newBatch(), docs: docs.slice(from, from + SCAN_BATCH_ENTRIES)};
  }
}

function* batchesOfRows({rows, order, show}: Shown): Generator<LiveBatch, void, void> {
  let batch = newBatch();
  let keys: Buffer[] = [];
  let keyBytes = 0;
  let chars = 0;
  for (const row of rows) {
    const text = show(row);
    batch.docs.push(row.doc);
    batch.created.push(row.created);
    batch.texts.push(text);
    batch.bytes.push(Buffer.byteLength(text));
    if (order.fields.length > 0) {
      const key = orderKey(order, parseDocument(row));
      keys.push(key);
      keyBytes += key.length;
      batch.keyEnds.push(keyBytes);
    }
    chars += text.length;
    if (batch.docs.length < SCAN_BATCH_ENTRIES && chars < SCAN_BATCH_RESULT_CHARS) continue;
    yield {...batch, keys: new Uint8Array(Buffer.concat(keys))};
    batch = newBatch();
    keys = [];
    keyBytes = 0;
    chars = 0;
  }
  yield {...batch, keys: new Uint8Array(Buffer.concat(keys))};
}

function newBatch(): LiveBatch {
  return {docs: [], created: [], texts: [], bytes: [], keys: new Uint8Array(), keyEnds: []};
}
