/** Makes a live query's result on a scan thread, in pieces that the main thread takes in one at a time. */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {SCAN_PIECE_ENTRIES, SCAN_PIECE_RESULT_CHARS} from '../../shared/limits.ts';
import {documentText, parseDocument} from '../documents/document.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import {find} from './find.ts';
import {type Order, orderKey} from './order.ts';
import type {Pace} from './pace.ts';
import type {LivePiece, LiveScan} from './scan-message.ts';

export type LiveRows = {rows: DocumentRow[]; order: Order; isComplete: boolean};

/** @throws op.invalid_input 400, op.too_large 413 */
export function liveRows(reader: QueryReader, {query, most, reserve}: LiveScan, pace: Pace): LiveRows {
  const wanted = most === null ? Number.POSITIVE_INFINITY : most + reserve;
  try {
    const {rows, order} = find(reader, query, wanted, null, pace);
    return {rows, order, isComplete: rows.length < wanted};
  } catch (caught) {
    // It may be the reserve that is too large.
    if (!(caught instanceof ServiceError) || caught.code !== 'op.too_large' || reserve === 0) throw caught;
    return liveRows(reader, {kind: 'live', query, most, reserve: 0}, pace);
  }
}

export function* livePieces({rows, order}: LiveRows): Generator<LivePiece, void, void> {
  let piece = newPiece();
  let keys: Buffer[] = [];
  let keyBytes = 0;
  let chars = 0;
  for (const row of rows) {
    const text = documentText(row);
    piece.docs.push(row.doc);
    piece.created.push(row.created);
    piece.texts.push(text);
    piece.bytes.push(Buffer.byteLength(text));
    if (order.fields.length > 0) {
      const key = orderKey(order, parseDocument(row));
      keys.push(key);
      keyBytes += key.length;
      piece.keyEnds.push(keyBytes);
    }
    chars += text.length;
    if (piece.docs.length < SCAN_PIECE_ENTRIES && chars < SCAN_PIECE_RESULT_CHARS) continue;
    yield {...piece, keys: new Uint8Array(Buffer.concat(keys))};
    piece = newPiece();
    keys = [];
    keyBytes = 0;
    chars = 0;
  }
  yield {...piece, keys: new Uint8Array(Buffer.concat(keys))};
}

function newPiece(): LivePiece {
  return {docs: [], created: [], texts: [], bytes: [], keys: new Uint8Array(), keyEnds: []};
}
