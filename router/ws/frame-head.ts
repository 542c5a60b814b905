/**
 * Finds the `request_id` of a subscribe frame that will not be parsed (too long, or over the rate limit), so that its
 * sender learns which request was dropped. Only the first FRAME_HEAD_BYTES are scanned, and only members of the outer
 * object count, so a flood costs little and a field of a query is not mistaken for an id.
 */
import type {Buffer} from 'node:buffer';

const FRAME_HEAD_BYTES = 4_096;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Null: not a subscribe, or its id is not within the scanned bytes. */
export function droppedRequestId(frame: Buffer): string | null {
  const head = frame.subarray(0, FRAME_HEAD_BYTES);
  let type: string | null = null;
  let id: string | null = null;
  for (const {name, text} of textMembers(head)) {
    if (name === 'type') type = text;
    if (name === 'request_id') id = text;
    if (type !== null && id !== null) break;
  }
  return type === 'subscribe' ? id : null;
}

/** String members of the outer object within the scanned bytes. */
function* textMembers(bytes: Buffer): Generator<{name: string; text: string}> {
  let level = 0;
  /** The latest string at the outer level; null once anything other than its value has followed. */
  let name: string | null = null;
  let isValue = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const end = endOfString(bytes, at);
      if (end === -1) return;
      const text = level === 1 ? stringAt(bytes, at, end) : null;
      if (isValue && name !== null && text !== null) yield {name, text};
      if (!isValue) name = text;
      at = end;
    } else if (byte === 0x7b || byte === 0x5b) level++;
    else if (byte === 0x7d || byte === 0x5d) level--;
    else if (level === 1 && byte === 0x3a) isValue = true;
    else if (level === 1 && byte === 0x2c) isValue = false;
  }
}

/** Position of the closing quote of the string that begins at `start`; -1: not within these bytes. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at++;
    else if (bytes[at] === QUOTE) return at;
  }
  return -1;
}

function stringAt(bytes: Buffer, start: number, end: number): string | null {
  try {
    return JSON.parse(bytes.toString('utf8', start, end + 1)) as string;
  } catch {
    return null; // not JSON: the frame would have been refused anyway
  }
}
