/**
 * Repairs a row that is one flipped bit away from matching its checksum. For texts of this length, a CRC-32 identifies
 * every single bit, so the original row is restored, and the checksum is the proof.
 */
import {Buffer} from 'node:buffer';
import {REPAIR_ROW_BYTES_MAX} from '../limits.ts';
import {type CheckedColumns, isSoundRow, type RowKind} from '../storage/row-checksum.ts';

type Value = string | number | null | undefined;

/** The row as it was written; null: more than one bit differs, or the row is too long to search. */
export function withOneBitBack<Kind extends RowKind>(
  kind: Kind,
  row: CheckedColumns<Kind>,
): CheckedColumns<Kind> | null {
  const columns: Record<string, Value> = row;
  const bytes = Object.values(columns).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 8),
    0,
  );
  if (bytes > REPAIR_ROW_BYTES_MAX) return null;
  for (const [column, value] of Object.entries(columns)) {
    for (const candidate of neighbours(value)) {
      const changed = {...row, [column]: candidate};
      if (isSoundRow(kind, changed)) return changed;
    }
  }
  return null;
}

/** All values that differ from this one in one bit, as SQLite stores it. */
function* neighbours(value: Value): Generator<string | number> {
  if (typeof value === 'number' && Number.isSafeInteger(value)) {
    for (let bit = 0n; bit < 64n; bit++) {
      const changed = Number(BigInt.asIntN(64, BigInt(value) ^ (1n << bit)));
      if (Number.isSafeInteger(changed)) yield changed;
    }
  }
  if (typeof value !== 'string') return;
  const bytes = Buffer.from(value);
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    yield bytes.toString();
    bytes[bit >> 3]! ^= 1 << (bit & 7);
  }
}
