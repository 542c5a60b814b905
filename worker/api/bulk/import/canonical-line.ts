/**
 * Converts a line of JSON into its stored text in one pass over the bytes, without creating values. The result is that
 * of `checkFields` and `storedText` (`shared/values/json.ts`) on `JSON.parse` of the line, at a third of the cost. It
 * handles plain lines only, as most are:
 *
 * - an object whose keys are ASCII without escapes, unique and not empty, and do not begin with a digit, `$` or `_`
 * - text whose escapes are those that `JSON.stringify` writes
 * - numbers as JavaScript writes them: at most 15 digits, no exponent, no trailing zeros
 * - keys that are quick to sort: the insertion sort is the fastest for a few keys, and far too slow for a thousand
 *
 * For any other line it returns nothing, and the general path accepts or refuses it. So this code needs no error
 * messages.
 */
import {Buffer} from 'node:buffer';
import {DOCUMENT_BYTES_MAX} from '../../../../shared/limits.ts';
import {NESTING_LEVELS_MAX} from '../../../../shared/values/value-limits.ts';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const DOLLAR = 0x24;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const UNDERSCORE = 0x5f;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Any decimal number of up to this many digits equals the shortest text of its double. */
const EXACT_DIGITS = 15;
/** With more zeros after `0.`, a number is written with an exponent. */
const ZEROS_MAX = 5;
/** Members of all objects that are open at one position of a line. */
const MEMBERS_MAX = 1_024;
/** Bytes of keys compared per line: half a millisecond. */
const COMPARED_MAX = 262_144;
const NOT_PLAIN = -1;

const TRUE = [0x74, 0x72, 0x75, 0x65];
const FALSE = [0x66, 0x61, 0x6c, 0x73, 0x65];
const NULL = [0x6e, 0x75, 0x6c, 0x6c];
/** Position of a text in the bytes of `CanonicalTexts`. */
export type TextPlace = {readonly start: number; readonly end: number; readonly isAscii: boolean};

export class CanonicalTexts {
  /** The texts of all lines so far, concatenated. */
  readonly bytes: Buffer;
  readonly #source: Buffer;
  /** End of the output so far. */
  #end = 0;
  /** All bytes of the line's texts, or-ed. */
  #seen = 0;
  /** Four numbers per member of an open object: position of its key in the source, and of the member in `bytes`. */
  readonly #members = new Int32Array(MEMBERS_MAX * 4);
  #membersEnd = 0;
  /** Order of the members being sorted, and a copy of the object's bytes. */
  readonly #order = new Int32Array(MEMBERS_MAX);
  readonly #unsorted: Buffer;
  /** Bytes of keys compared in this line. */
  #compared = 0;
  /** End of the last accepted line. */
  #next = 0;

  /** @param source UTF-8; each of its lines ends with a line feed */
  constructor(source: Buffer) {
    this.#source = source;
    // The output is never longer than the source.
    this.bytes = Buffer.allocUnsafeSlow(source.length);
    this.#unsorted = Buffer.allocUnsafeSlow(source.length);
  }

  /** Position after the line feed of the last accepted line. */
  get next(): number {
    return this.#next;
  }

  /** The stored text of the line that begins at `start`; null: the line is not plain. */
  take(start: number): TextPlace | null {
    const textStart = this.#end;
    this.#seen = 0;
    this.#membersEnd = 0;
    this.#compared = 0;
    let at = this.#skip(start);
    if (this.#source[at] === OPEN_BRACE) {
      at = this.#object(at, 1);
      if (at !== NOT_PLAIN) at = this.#skip(at);
      if (at !== NOT_PLAIN && this.#source[at] === LINE_FEED && this.#end - textStart <= DOCUMENT_BYTES_MAX) {
        this.#next = at + 1;
        return {start: textStart, end: this.#end, isAscii: this.#seen < 0x80};
      }
    }
    this.#end = textStart;
    return null;
  }

  #skip(from: number): number {
    const source = this.#source;
    let at = from;
    for (let byte = source[at]; byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN; byte = source[at]) at++;
    return at;
  }

  /** Each of these copies what it reads, and returns the position after it, or `NOT_PLAIN`. */
  #value(at: number, level: number): number {
    const byte = this.#source[at]!;
    switch (byte) {
      case QUOTE:
        return this.#text(at);
      case OPEN_BRACE:
        return this.#object(at, level);
      case OPEN_BRACKET:
        return this.#array(at, level);
      case 0x74:
        return this.#word(at, TRUE);
      case 0x66:
        return this.#word(at, FALSE);
      case 0x6e:
        return this.#word(at, NULL);
      default:
        return this.#number(at);
    }
  }

  #object(from: number, level: number): number {
    if (level > NESTING_LEVELS_MAX) return NOT_PLAIN;
    const {bytes} = this;
    const source = this.#source;
    const members = this.#members;
    const first = this.#membersEnd;
    let isSorted = true;
    bytes[this.#end++] = OPEN_BRACE;
    let at = this.#skip(from + 1);
    if (source[at] === CLOSE_BRACE) {
      bytes[this.#end++] = CLOSE_BRACE;
      return at + 1;
    }
    for (;;) {
      const member = this.#membersEnd;
      if (member === members.length) return NOT_PLAIN;
      members[member] = at;
      members[member + 2] = this.#end;
      at = this.#key(at);
      if (at === NOT_PLAIN) return NOT_PLAIN;
      members[member + 1] = at;
      if (member > first) {
        const order = this.#compareKeys(member - 4, member);
        if (order === 0) return NOT_PLAIN;
        if (order > 0) isSorted = false;
      }
      this.#membersEnd = member + 4;
      at = this.#skip(at);
      if (source[at] !== COLON) return NOT_PLAIN;
      bytes[this.#end++] = COLON;
      at = this.#value(this.#skip(at + 1), level + 1);
      if (at === NOT_PLAIN) return NOT_PLAIN;
      members[member + 3] = this.#end;
      at = this.#skip(at);
      const byte = source[at++];
      if (byte === COMMA) {
        bytes[this.#end++] = COMMA;
        at = this.#skip(at);
      } else if (byte === CLOSE_BRACE) break;
      else return NOT_PLAIN;
    }
    if (!isSorted && !this.#sort(first)) return NOT_PLAIN;
    this.#membersEnd = first;
    bytes[this.#end++] = CLOSE_BRACE;
    return at;
  }

  #array(from: number, level: number): number {
    if (level > NESTING_LEVELS_MAX) return NOT_PLAIN;
    const {bytes} = this;
    const source = this.#source;
    bytes[this.#end++] = OPEN_BRACKET;
    let at = this.#skip(from + 1);
    if (source[at] === CLOSE_BRACKET) {
      bytes[this.#end++] = CLOSE_BRACKET;
      return at + 1;
    }
    for (;;) {
      at = this.#value(at, level + 1);
      if (at === NOT_PLAIN) return NOT_PLAIN;
      at = this.#skip(at);
      const byte = source[at++];
      if (byte === COMMA) {
        bytes[this.#end++] = COMMA;
        at = this.#skip(at);
      } else if (byte === CLOSE_BRACKET) {
        bytes[this.#end++] = CLOSE_BRACKET;
        return at;
      } else return NOT_PLAIN;
    }
  }

  #key(from: number): number {
    const {bytes} = this;
    const source = this.#source;
    if (source[from] !== QUOTE) return NOT_PLAIN;
    const first = source[from + 1]!;
    if (first === QUOTE || first === DOLLAR || first === UNDERSCORE || (first >= ZERO && first <= NINE))
      return NOT_PLAIN;
    let to = this.#end;
    bytes[to++] = QUOTE;
    for (let at = from + 1; ; at++) {
      const byte = source[at]!;
      bytes[to++] = byte;
      if (byte === QUOTE) {
        this.#end = to;
        return at + 1;
      }
      if (byte < SPACE || byte >= 0x80 || byte === BACKSLASH) return NOT_PLAIN;
    }
  }

  #text(from: number): number {
    const {bytes} = this;
    const source = this.#source;
    let to = this.#end;
    let seen = this.#seen;
    bytes[to++] = QUOTE;
    for (let at = from + 1; ; at++) {
      const byte = source[at]!;
      bytes[to++] = byte;
      if (byte === QUOTE) {
        this.#end = to;
        this.#seen = seen;
        return at + 1;
      }
      if (byte < SPACE) return NOT_PLAIN;
      if (byte === BACKSLASH) {
        const escaped = source[++at]!;
        if (!isEscaped(escaped)) return NOT_PLAIN;
        bytes[to++] = escaped;
      }
      seen |= byte;
    }
  }

  #number(from: number): number {
    const source = this.#source;
    let at = from;
    if (source[at] === MINUS) at++;
    const whole = at;
    while (isDigit(source[at]!)) at++;
    if (at === whole) return NOT_PLAIN;
    const isZero = source[whole] === ZERO;
    if (isZero && at > whole + 1) return NOT_PLAIN;
    let digits = at - whole;
    if (source[at] === POINT) {
      const point = at++;
      while (source[at] === ZERO) at++;
      if (isZero && at - point - 1 > ZEROS_MAX) return NOT_PLAIN;
      while (isDigit(source[at]!)) at++;
      if (at === point + 1 || source[at - 1] === ZERO) return NOT_PLAIN;
      digits += at - point - 1;
    } else if (isZero && whole > from) return NOT_PLAIN; // -0
    if (digits > EXACT_DIGITS || source[at] === 0x65 || source[at] === 0x45) return NOT_PLAIN;
    return this.#copied(from, at);
  }

  #word(from: number, word: readonly number[]): number {
    for (let i = 1; i < word.length; i++) if (this.#source[from + i] !== word[i]) return NOT_PLAIN;
    return this.#copied(from, from + word.length);
  }

  #copied(from: number, end: number): number {
    const {bytes} = this;
    const source = this.#source;
    let to = this.#end;
    for (let at = from; at < end; at++) bytes[to++] = source[at]!;
    this.#end = to;
    return end;
  }

  /** Sorts the members of an object by key. @returns false: duplicate key, or too slow */
  #sort(first: number): boolean {
    const members = this.#members;
    const order = this.#order;
    let count = 0;
    for (let member = first; member < this.#membersEnd; member += 4) {
      let place = count++;
      for (; place > 0; place--) {
        const compared = this.#compareKeys(order[place - 1]!, member);
        if (compared === 0 || this.#compared > COMPARED_MAX) return false;
        if (compared < 0) break;
        order[place] = order[place - 1]!;
      }
      order[place] = member;
    }
    const {bytes} = this;
    const unsorted = this.#unsorted;
    const start = members[first + 2]!;
    bytes.copy(unsorted, start, start, this.#end);
    let to = start;
    for (let i = 0; i < count; i++) {
      if (i > 0) bytes[to++] = COMMA;
      const member = order[i]!;
      const end = members[member + 3]!;
      for (let at = members[member + 2]!; at < end; at++) bytes[to++] = unsorted[at]!;
    }
    return true;
  }

  /** Negative: the key of `a` comes first. */
  #compareKeys(a: number, b: number): number {
    const source = this.#source;
    const members = this.#members;
    const aStart = members[a]! + 1;
    const bStart = members[b]! + 1;
    const aLength = members[a + 1]! - 1 - aStart;
    const bLength = members[b + 1]! - 1 - bStart;
    const shorter = Math.min(aLength, bLength);
    let same = 0;
    while (same < shorter && source[aStart + same] === source[bStart + same]) same++;
    this.#compared += same + 1;
    return same < shorter ? source[aStart + same]! - source[bStart + same]! : aLength - bLength;
  }
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

/** Valid characters after a backslash: `"`, `\`, b, f, n, r, t. */
function isEscaped(byte: number): boolean {
  return (
    byte === QUOTE ||
    byte === BACKSLASH ||
    byte === 0x62 ||
    byte === 0x66 ||
    byte === 0x6e ||
    byte === 0x72 ||
    byte === 0x74
  );
}
