/**
 * Cuts a stream of bytes into batches of whole lines: those that end in one chunk, so that lines from a slow pipe are
 * sent as they arrive. It holds at most one line and one chunk. Lines stay bytes: the server decides whether they are
 * valid UTF-8 and valid JSON.
 */
import {Buffer} from 'node:buffer';

export type Lines = {
  /** The number of the first line, counted from 1. */
  first: number;
  count: number;
  /** Each line ends with a line feed, including the last one of the stream. */
  bytes: Buffer;
  /** Bytes of the stream up to their end. */
  endsAt: number;
};

const LINE_FEED = 0x0a;
const END = Buffer.from('\n');

/**
 * @param bytesMax of a line; of a longer one, this many bytes plus one are delivered: enough to detect it without
 * holding it
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Lines, void, void> {
  let first = 1;
  let offset = 0;
  /** The beginning of a line that continues in the next chunk. */
  let buffered: Buffer[] = [];
  let bufferedBytes = 0;
  const hold = (chunk: Buffer): void => {
    const kept = chunk.subarray(0, bytesMax + 1 - bufferedBytes);
    if (kept.length > 0) buffered.push(kept);
    bufferedBytes += kept.length;
  };
  for await (const chunk of chunks) {
    const start = chunk.indexOf(LINE_FEED) + 1;
    if (start === 0) {
      offset += chunk.length;
      hold(chunk);
      continue;
    }
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    const begunBefore = bufferedBytes > 0;
    if (begunBefore) hold(chunk.subarray(0, start - 1));
    const bytes = begunBefore ? Buffer.concat([...buffered, END, chunk.subarray(start, end)]) : chunk.subarray(0, end);
    buffered = [];
    bufferedBytes = 0;
    const count = linesIn(chunk);
    yield {first, count, bytes, endsAt: offset + end};
    first += count;
    offset += chunk.length;
    if (end < chunk.length) hold(chunk.subarray(end));
  }
  if (bufferedBytes > 0) yield {first, count: 1, bytes: Buffer.concat([...buffered, END]), endsAt: offset};
}

/** The first of these lines, up to the one with this number. */
export function upToLine({first, bytes}: Lines, last: number): Buffer {
  let end = 0;
  for (let line = first; line <= last; line++) end = bytes.indexOf(LINE_FEED, end) + 1;
  return bytes.subarray(0, end);
}

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}
