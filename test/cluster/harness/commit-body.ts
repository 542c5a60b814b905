import {HEADER_BYTES} from '../../../engine/copies/page-set.ts';

/** The body of a commit: it begins as a page set does, which is all that the log checks. */
export function commitBody(text: string, bytes = HEADER_BYTES): Buffer {
  const body = Buffer.alloc(Math.max(bytes, HEADER_BYTES + text.length));
  body.write('svcpages');
  body.writeUInt32BE(1, 8);
  body.write(text, HEADER_BYTES);
  return body;
}
