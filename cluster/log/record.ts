/**
 * The format of the records of a tenant's log. Numbers are big-endian.
 *
 *   header 144 ─ list of parts, 44 each ─ body, if it has no parts
 *
 *   header     0  "svcrecrd"            8  format, 2 bytes     10  kind, 1 byte     11  zero
 *             12  number of parts      16  epoch               24  n
 *             32  sequence before      40  digest before       72  digest
 *            104  bytes of the body   112  SHA-256 of the body
 *   part       0  sequence              8  bytes               12  SHA-256
 *
 * Rules, all of them checked when a record is read
 * - `n` counts the records of the log from 1. The first one opens it.
 * - An `open` has a higher epoch than the record before it. Any other record has the same one, and no `close` before it.
 * - `sequence before` and `digest before` are those of the record before; of the first record, zeros.
 * - The digest covers kind, epoch, n, digest before and the body. So records are chained, and a record that is appended
 *   again to another stream keeps its digest, although its sequences change.
 * - The sequences of its parts differ, and are between those of the record before and its own. So parts can be removed
 *   together with the records before.
 * - The body of `commit` and `migrate` is a page set (`engine/copies/page-set.ts`), that of `open` and `close` a note.
 */
import {createHash} from 'node:crypto';
import {checkFormat, HEADER_BYTES as PAGE_SET_HEADER_BYTES} from '../../engine/copies/page-set.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {assert} from '../../shared/assert.ts';
import {NOTE_BYTES_MAX, PART_BYTES, PARTS_MAX} from '../limits.ts';
import {LogError} from './log-error.ts';

const MAGIC = Buffer.from('svcrecrd');
/** The newest format that this svc reads and writes. */
export const RECORD_FORMAT = 1;
const HEADER_BYTES = 144;
const PART_ENTRY_BYTES = 44;
const DIGEST_BYTES = 32;
const KINDS = ['open', 'commit', 'migrate', 'close'] as const;

export type RecordKind = (typeof KINDS)[number];

/** A part of a body, in a message of its own. */
export type Part = {readonly sequence: number; readonly bytes: number; readonly sha256: Buffer};

export type RecordHead = {
  readonly kind: RecordKind;
  readonly epoch: number;
  readonly n: number;
  readonly sequenceBefore: number;
  readonly digestBefore: Buffer;
  readonly digest: Buffer;
  readonly bodyBytes: number;
  readonly bodySha256: Buffer;
  readonly parts: readonly Part[];
};

/** The place of a record in its log. */
export type LogPosition = {
  readonly kind: RecordKind;
  readonly epoch: number;
  readonly n: number;
  /** In the stream. */
  readonly sequence: number;
  readonly digest: Buffer;
};

/** The note of a record that opens or closes a log, for a process that passes it on. */
export function noteBehindHeader(bytes: Buffer): string {
  return bytes.toString('utf8', HEADER_BYTES);
}

/** @param before null: it is the first record */
export function nextHead(
  before: LogPosition | null,
  {kind, epoch, body}: {kind: RecordKind; epoch: number; body: {bytes: number; sha256: Buffer}},
  parts: readonly Part[],
): RecordHead {
  const content = {
    kind,
    epoch,
    n: (before?.n ?? 0) + 1,
    digestBefore: before?.digest ?? Buffer.alloc(DIGEST_BYTES),
    bodyBytes: body.bytes,
    bodySha256: body.sha256,
  };
  const head = {...content, sequenceBefore: before?.sequence ?? 0, digest: digestOf(content), parts};
  const fault = headFault(head) ?? followFault(before, head);
  assert(fault === null, `a record is made right: ${fault}`);
  return head;
}

/** @param body empty if the record has parts */
export function encodeRecord(head: RecordHead, body: Buffer): Buffer {
  assert(body.length === (head.parts.length === 0 ? head.bodyBytes : 0), 'a body is in the record or in parts');
  const bytes = Buffer.alloc(HEADER_BYTES + head.parts.length * PART_ENTRY_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt16BE(RECORD_FORMAT, 8);
  bytes[10] = KINDS.indexOf(head.kind);
  bytes.writeUInt32BE(head.parts.length, 12);
  writeNumber(bytes, head.epoch, 16);
  writeNumber(bytes, head.n, 24);
  writeNumber(bytes, head.sequenceBefore, 32);
  head.digestBefore.copy(bytes, 40);
  head.digest.copy(bytes, 72);
  writeNumber(bytes, head.bodyBytes, 104);
  head.bodySha256.copy(bytes, 112);
  for (const [i, part] of head.parts.entries()) {
    const at = HEADER_BYTES + i * PART_ENTRY_BYTES;
    writeNumber(bytes, part.sequence, at);
    bytes.writeUInt32BE(part.bytes, at + 8);
    part.sha256.copy(bytes, at + 12);
  }
  return Buffer.concat([bytes, body]);
}

export type DecodedRecord = {
  readonly head: RecordHead;
  readonly position: LogPosition;
  /** Null: it is in parts. */
  readonly body: Buffer | null;
};

/** @param sequence of its message. @throws LogError: it breaks a rule that needs no other record */
export function decodeRecord(bytes: Buffer, sequence: number): DecodedRecord {
  const fail = (detail: string) => new LogError('damaged', `the record at ${sequence} ${detail}`);
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw fail('is no record');
  const format = bytes.readUInt16BE(8);
  if (format !== RECORD_FORMAT) throw fail(`has the format ${format}; this svc knows ${RECORD_FORMAT}`);
  const kind = KINDS[bytes[10]!];
  const partCount = bytes.readUInt32BE(12);
  if (kind === undefined || bytes[11] !== 0) throw fail(`has the kind ${bytes[10]}`);
  if (partCount > PARTS_MAX) throw fail(`has ${partCount} parts`);
  const end = HEADER_BYTES + partCount * PART_ENTRY_BYTES;
  if (bytes.length < end) throw fail(`ends after ${bytes.length} bytes`);
  const head: RecordHead = {
    kind,
    epoch: readNumber(bytes, 16),
    n: readNumber(bytes, 24),
    sequenceBefore: readNumber(bytes, 32),
    digestBefore: slice(bytes, 40),
    digest: slice(bytes, 72),
    bodyBytes: readNumber(bytes, 104),
    bodySha256: slice(bytes, 112),
    parts: Array.from({length: partCount}, (_, i) => {
      const at = HEADER_BYTES + i * PART_ENTRY_BYTES;
      return {sequence: readNumber(bytes, at), bytes: bytes.readUInt32BE(at + 8), sha256: slice(bytes, at + 12)};
    }),
  };
  const fault = headFault(head) ?? partsFault(head, sequence);
  if (fault !== null) throw fail(fault);
  const body = bytes.subarray(end);
  if (body.length !== (partCount === 0 ? head.bodyBytes : 0)) throw fail(`has ${body.length} bytes after its header`);
  if (partCount === 0) checkBody(head, body, fail);
  const {epoch, n, digest} = head;
  return {head, position: {kind, epoch, n, sequence, digest}, body: partCount === 0 ? body : null};
}

/**
 * The place of a record by its header alone, for a process that passes records on. Whether the header is true is checked
 * where the record is read. Null: it is no header of this format.
 */
export function placeInHeader(bytes: Buffer, sequence: number): LogPosition | null {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  const [kind, epoch, n] = [KINDS[bytes[10]!], readNumber(bytes, 16), readNumber(bytes, 24)];
  // The next record has the next number.
  const isCount = (count: number) => count >= 1 && Number.isSafeInteger(count + 1);
  const isPlace = kind !== undefined && isCount(epoch) && isCount(n);
  return isPlace && bytes.readUInt16BE(8) === RECORD_FORMAT
    ? {kind, epoch, n, sequence, digest: slice(bytes, 72)}
    : null;
}

/** Sequences of the parts that a header names, as far as it goes. */
export function partsInHeader(bytes: Buffer): number[] {
  const fitting = Math.floor((bytes.length - HEADER_BYTES) / PART_ENTRY_BYTES);
  const count = Math.min(bytes.readUInt32BE(12), fitting, PARTS_MAX);
  return Array.from({length: count}, (_, i) => readNumber(bytes, HEADER_BYTES + i * PART_ENTRY_BYTES));
}

/** Whether the record can come after the other. Null: it can. */
export function followFault(before: LogPosition | null, head: RecordHead): string | null {
  const isOpen = head.kind === 'open';
  if (head.n !== (before?.n ?? 0) + 1) return `is number ${head.n} after number ${before?.n ?? 0}`;
  if (head.sequenceBefore !== (before?.sequence ?? 0)) return `follows ${head.sequenceBefore}`;
  if (!head.digestBefore.equals(before?.digest ?? Buffer.alloc(DIGEST_BYTES))) return 'follows another record';
  if (before === null) return isOpen ? null : `is the first one, and a ${head.kind}`;
  if (isOpen) return head.epoch > before.epoch ? null : `opens epoch ${head.epoch} after epoch ${before.epoch}`;
  if (before.kind === 'close') return `is a ${head.kind} after a close`;
  return head.epoch === before.epoch ? null : `is of epoch ${head.epoch} after epoch ${before.epoch}`;
}

/** @throws what `fail` makes: the bytes are not the body of a record with this head */
export function checkBody(head: RecordHead, body: Buffer, fail: (detail: string) => Error): void {
  if (!sha256(body).equals(head.bodySha256)) throw fail('has a body with another SHA-256');
  checkBodyBegin(head, body.subarray(0, PAGE_SET_HEADER_BYTES), fail);
}

/** @param begin of the body, with the header of its page set */
export function checkBodyBegin({kind}: RecordHead, begin: Buffer, fail: (detail: string) => Error): void {
  if (kind === 'open' || kind === 'close') return;
  try {
    checkFormat(begin);
  } catch (error) {
    if (error instanceof PageSetError) throw fail(`has a body that is no page set: ${error.message}`);
    throw error;
  }
}

export function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function headFault(head: RecordHead): string | null {
  const {kind, epoch, n, sequenceBefore, bodyBytes, parts} = head;
  if (![epoch, n, sequenceBefore, bodyBytes].every(Number.isSafeInteger)) return 'has a number that is too large';
  if (epoch < 1 || n < 1) return `has epoch ${epoch} and number ${n}`;
  if ((n === 1) !== (sequenceBefore === 0)) return `is number ${n}, after ${sequenceBefore}`;
  if ((kind === 'open' || kind === 'close') && bodyBytes > NOTE_BYTES_MAX) return `has a note of ${bodyBytes} bytes`;
  if (parts.length === 0 && bodyBytes > PART_BYTES) return `has ${bodyBytes} bytes without parts`;
  if (parts.length > PARTS_MAX) return `has ${parts.length} parts`;
  const isWhole = parts.every(({bytes}, i) => bytes === Math.min(PART_BYTES, bodyBytes - i * PART_BYTES) && bytes > 0);
  if (parts.length > 0 && (!isWhole || parts.length !== Math.ceil(bodyBytes / PART_BYTES)))
    return 'has parts that are not its body';
  return digestOf(head).equals(head.digest) ? null : 'has another digest than its content';
}

function partsFault({parts, sequenceBefore}: RecordHead, sequence: number): string | null {
  if (sequenceBefore >= sequence) return `follows ${sequenceBefore}`;
  const isBetween = parts.every(part => part.sequence > sequenceBefore && part.sequence < sequence);
  if (!isBetween) return 'has parts that are not between the record before and itself';
  return new Set(parts.map(part => part.sequence)).size === parts.length ? null : 'has a part twice';
}

type Content = Pick<RecordHead, 'kind' | 'epoch' | 'n' | 'digestBefore' | 'bodyBytes' | 'bodySha256'>;

function digestOf({kind, epoch, n, digestBefore, bodyBytes, bodySha256}: Content): Buffer {
  const numbers = Buffer.alloc(25);
  numbers[0] = KINDS.indexOf(kind);
  writeNumber(numbers, epoch, 1);
  writeNumber(numbers, n, 9);
  writeNumber(numbers, bodyBytes, 17);
  return sha256(Buffer.concat([MAGIC, numbers, digestBefore, bodySha256]));
}

function writeNumber(bytes: Buffer, value: number, at: number): void {
  bytes.writeBigUInt64BE(BigInt(value), at);
}

function readNumber(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64BE(at));
}

function slice(bytes: Buffer, at: number): Buffer {
  return Buffer.from(bytes.subarray(at, at + DIGEST_BYTES));
}
