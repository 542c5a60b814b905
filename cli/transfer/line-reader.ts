/**
 * Cuts a stream of bytes into lines, holding no more than one line and one chunk. Lines stay bytes: the server decides
 * whether they are valid UTF-8 and valid JSON. Empty lines are numbered but not delivered.
 */
import {Buffer} from 'node:buffer';

export type Line = {
  /** From 1. */
  number: number;
  /** Without the line feed; null when it is longer than allowed. */
  bytes: Buffer | null;
  /** Bytes of the stream up to the end of this line. */
  endsAt: number;
};

const LINE_FEED = 0x0a;
const BLANK = new Set([0x20, 0x09, 0x0d]);

export async function* readLines(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Line, void, void> {
  let number = 0;
  let offset = 0;
  /** The beginning of a line that goes on in the next chunk. */
  let pieces: Buffer[] = [];
  let length = 0;
  const lineOf = (last: Buffer): Line | null => {
    number += 1;
    length += last.length;
    const isTooLong = length > bytesMax;
    const bytes = isTooLong ? null : pieces.length === 0 ? last : Buffer.concat([...pieces, last], length);
    pieces = [];
    length = 0;
    return bytes?.every(byte => BLANK.has(byte)) ? null : {number, bytes, endsAt: offset};
  };
  for await (const chunk of chunks) {
    const chunkStart = offset;
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      offset = chunkStart + end + 1;
      const line = lineOf(chunk.subarray(start, end));
      start = end + 1;
      if (line !== null) yield line;
    }
    offset = chunkStart + chunk.length;
    if (start === chunk.length) continue;
    length += chunk.length - start;
    // A line that is too long already is only counted on.
    if (length <= bytesMax) pieces.push(chunk.subarray(start));
    else pieces = [];
  }
  if (length === 0) return;
  const line = lineOf(Buffer.alloc(0));
  if (line !== null) yield line;
}
