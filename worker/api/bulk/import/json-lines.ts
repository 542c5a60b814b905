/**
 * Splits JSON lines as they arrive. The complete lines of a chunk are checked for UTF-8 at once, which is much cheaper
 * than line by line; a chunk with invalid UTF-8 is checked by its lines. New documents in plain lines are stored
 * without creating values (`canonical-line.ts`). At most one line and one chunk are in memory.
 */
import {Buffer, isUtf8} from 'node:buffer';
import {invalid, tooLarge} from '../../../../shared/errors.ts';
import {IMPORT_LINE_BYTES_MAX} from '../../../../shared/limits.ts';
import {CanonicalTexts} from './canonical-line.ts';
import {type ImportLine, type LineTarget, lineOf, refusedLine} from './import-line.ts';

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const LINE_END = Buffer.from('\n');

/**
 * @param first number of the first line.
 * @param from lines before this one are skipped. Blank lines only count; the number of the last line is reported at the
 *   end.
 */
export async function* jsonLines(
  chunks: AsyncIterable<Buffer>,
  target: LineTarget,
  first: number,
  from: number,
): AsyncGenerator<Iterable<ImportLine>, void, void> {
  let line = first;
  let buffered: Buffer[] = [];
  let bufferedBytes = 0;
  let isTooLong = false;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) {
      let start = 0;
      if (isTooLong || bufferedBytes > 0) {
        start = chunk.indexOf(LINE_FEED) + 1;
        buffered.push(chunk.subarray(0, start));
        isTooLong ||= bufferedBytes + start > IMPORT_LINE_BYTES_MAX;
        yield isTooLong ? tooLong(line, from) : linesOf(Buffer.concat(buffered), target, line, from);
        line++;
        buffered = [];
        bufferedBytes = 0;
        isTooLong = false;
      }
      const whole = chunk.subarray(start, end);
      if (whole.length > 0) {
        yield linesOf(whole, target, line, from);
        line += count(whole);
      }
    }
    if (end === chunk.length) continue;
    bufferedBytes += chunk.length - end;
    isTooLong ||= bufferedBytes > IMPORT_LINE_BYTES_MAX;
    // Nothing of an overlong line is buffered.
    if (isTooLong) buffered = [];
    else hold(buffered, chunk.subarray(end));
  }
  if (isTooLong) yield tooLong(line, from);
  else if (bufferedBytes > 0) yield linesOf(Buffer.concat([...buffered, LINE_END]), target, line, from);
  if (bufferedBytes > 0) line++;
  // Trailing blank lines count as handled, so that a continued import starts after them.
  if (line > first && line > from) yield [{line: line - 1, chars: 0, isEnd: true}];
}

/**
 * Merges neighbours of similar length: a line that arrives byte by byte is held as few chunks, and each byte is copied
 * only a few times.
 */
function hold(buffered: Buffer[], chunk: Buffer): void {
  let last = chunk;
  while (buffered.length > 0 && buffered.at(-1)!.length <= last.length) last = Buffer.concat([buffered.pop()!, last]);
  buffered.push(last);
}

/** @param bytes whole lines, each with its line feed */
function* linesOf(bytes: Buffer, target: LineTarget, first: number, from: number): Generator<ImportLine, void, void> {
  if (!isUtf8(bytes)) {
    yield* linesApart(bytes, target, first, from);
    return;
  }
  const {table} = target;
  const texts = table !== null && target.mode === 'insert' ? new CanonicalTexts(bytes) : null;
  let line = first;
  let start = first === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
  for (; start < bytes.length; line++) {
    const text = texts === null || line < from ? null : texts.take(start);
    if (text !== null) {
      const chars = texts!.next - start;
      start = texts!.next;
      yield {line, chars, document: {table: table!, bytes: texts!.bytes, ...text}};
      continue;
    }
    const end = bytes.indexOf(LINE_FEED, start);
    if (line >= from && !isBlank(bytes, start, end)) yield parsed(line, bytes.toString('utf8', start, end), target);
    start = end + 1;
  }
}

function* linesApart(
  bytes: Buffer,
  target: LineTarget,
  first: number,
  from: number,
): Generator<ImportLine, void, void> {
  let line = first;
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(LINE_FEED, start) + 1;
    const one = bytes.subarray(start, end);
    start = end;
    if (isUtf8(one)) yield* linesOf(one, target, line, from);
    else if (line >= from) yield refusedLine(line, one.length, invalid('the line is not valid UTF-8'));
  }
}

function parsed(line: number, text: string, target: LineTarget): ImportLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? `: ${cause.message.slice(0, 100)}` : '';
    return refusedLine(line, text.length, invalid(`the line is not JSON${reason}`));
  }
  return lineOf(line, text.length, target, value);
}

function* tooLong(line: number, from: number): Generator<ImportLine, void, void> {
  if (line < from) return;
  const message = `the line is longer than ${IMPORT_LINE_BYTES_MAX} bytes`;
  yield refusedLine(line, 0, tooLarge(message));
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! > SPACE) return false;
  return true;
}

function count(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines++;
  return lines;
}
