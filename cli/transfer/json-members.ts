/**
 * Finds the top-level members of a JSON object in its bytes, without decoding any value. So what is sent or written is
 * exactly what was read: no number is rounded and no `1e999` turns into null on the way; the server is the one that
 * validates values. What is found here is only structure: a text with unbalanced or misplaced brackets is refused (here or by the
 * server), never read as something else.
 */
import {Buffer} from 'node:buffer';

export type Member = {
  key: string;
  /** Offsets of the whole member, from the quote of its key. */
  start: number;
  valueStart: number;
  end: number;
};

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The members of the one object that `text` consists of, in order; null when it is not one object. */
export function topLevelMembers(text: Buffer): Member[] | null {
  const members: Member[] = [];
  let at = afterSpace(text, 0);
  if (text[at] !== OPEN_OBJECT) return null;
  at = afterSpace(text, at + 1);
  if (text[at] === CLOSE_OBJECT) return afterSpace(text, at + 1) === text.length ? members : null;
  for (;;) {
    const start = at;
    const keyEnd = afterString(text, at);
    if (keyEnd === -1) return null;
    const key = keyOf(text.subarray(start, keyEnd));
    at = afterSpace(text, keyEnd);
    if (key === null || text[at] !== COLON) return null;
    const valueStart = afterSpace(text, at + 1);
    const end = afterValue(text, valueStart);
    if (end === -1) return null;
    members.push({key, start, valueStart, end});
    at = afterSpace(text, end);
    if (text[at] === CLOSE_OBJECT) return afterSpace(text, at + 1) === text.length ? members : null;
    if (text[at] !== COMMA) return null;
    at = afterSpace(text, at + 1);
  }
}

/** `text` without some of its members. */
export function withoutMembers(text: Buffer, members: readonly Member[], dropped: ReadonlySet<string>): Buffer {
  if (!members.some(member => dropped.has(member.key))) return text;
  const pieces: Buffer[] = [];
  for (const {key, start, end} of members) {
    if (dropped.has(key)) continue;
    pieces.push(pieces.length === 0 ? OPENING : SEPARATOR, text.subarray(start, end));
  }
  return Buffer.concat(pieces.length === 0 ? [OPENING, CLOSING] : [...pieces, CLOSING]);
}

const OPENING = Buffer.from('{');
const SEPARATOR = Buffer.from(',');
const CLOSING = Buffer.from('}');

function afterSpace(text: Buffer, from: number): number {
  let at = from;
  for (let byte = text[at]; byte === SPACE || byte === 0x09 || byte === 0x0a || byte === 0x0d; byte = text[at]) at += 1;
  return at;
}

/** The offset after the string that begins at `at`, or -1. */
function afterString(text: Buffer, at: number): number {
  if (text[at] !== QUOTE) return -1;
  for (let i = at + 1; i < text.length; i++) {
    const byte = text[i];
    if (byte === QUOTE) return i + 1;
    if (byte === BACKSLASH) i += 1;
  }
  return -1;
}

/** The offset after the value that begins at `at`, or -1 when it does not end or there is none. */
function afterValue(text: Buffer, at: number): number {
  const first = text[at];
  if (first === QUOTE) return afterString(text, at);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return afterScalar(text, at);
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const byte = text[i];
    if (byte === QUOTE) {
      const end = afterString(text, i);
      if (end === -1) return -1;
      i = end - 1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth += 1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return -1;
}

/** Numbers and words end at what may follow a value; whether they are any is not decided here. */
function afterScalar(text: Buffer, at: number): number {
  let end = at;
  for (; end < text.length; end++) {
    const byte = text[end]!;
    if (byte <= SPACE || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) break;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY || byte === QUOTE || byte === COLON) return -1;
  }
  return end === at ? -1 : end;
}

function keyOf(quoted: Buffer): string | null {
  if (!quoted.includes(BACKSLASH)) return quoted.toString('utf8', 1, quoted.length - 1);
  try {
    return JSON.parse(quoted.toString()) as string;
  } catch {
    return null; // a broken escape: the text is not JSON
  }
}
