/**
 * Rewrites the memory section of a WebAssembly module: each memory gets a maximum, and a shared one is refused. V8
 * checks everything else. A module that cannot be parsed here is passed on unchanged, or refused if its memories are
 * unclear.
 */
const HEADER_BYTES = 8;
const MEMORY_SECTION = 5;
const HAS_MAXIMUM = 1;

export function limitMemories(bytes: Uint8Array, pagesMax: number): {bytes: Uint8Array; count: number} {
  const reader = new Reader(bytes, HEADER_BYTES);
  while (!reader.atEnd) {
    const begin = reader.at;
    const id = reader.byte();
    const length = reader.u32();
    const end = reader.at + length;
    if (id === MEMORY_SECTION) {
      const {content, count} = limited(reader, pagesMax);
      if (reader.at !== end) throw refusal('a memory section of the wrong length');
      return {bytes: replaced(bytes, begin, end, content), count};
    }
    reader.at = end;
  }
  return {bytes, count: 0};
}

function limited(reader: Reader, pagesMax: number): {content: number[]; count: number} {
  const count = reader.u32();
  const content = [...leb(count)];
  for (let i = 0; i < count; i++) {
    const flags = reader.byte();
    // Bit 1 is shared, bit 2 is 64-bit addresses; other bits are not in the standard.
    if ((flags & ~HAS_MAXIMUM) !== 0) throw refusal('shared and 64-bit memories are not available');
    const initial = reader.u32();
    const maximum = (flags & HAS_MAXIMUM) === 0 ? pagesMax : Math.min(reader.u32(), pagesMax);
    if (initial > maximum) throw new RangeError('WebAssembly: could not allocate memory');
    content.push(HAS_MAXIMUM, ...leb(initial), ...leb(maximum));
  }
  return {content, count};
}

function replaced(bytes: Uint8Array, begin: number, end: number, content: number[]): Uint8Array {
  const section = [MEMORY_SECTION, ...leb(content.length), ...content];
  const result = new Uint8Array(bytes.length - (end - begin) + section.length);
  result.set(bytes.subarray(0, begin));
  result.set(section, begin);
  result.set(bytes.subarray(end), begin + section.length);
  return result;
}

class Reader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  get atEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw refusal('it ends within a section');
    return byte;
  }

  u32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw refusal('a number of more than 32 bits');
  }
}

function leb(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest % 128) + (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return bytes;
}

function refusal(why: string): Error {
  const {CompileError} = (globalThis as unknown as {WebAssembly: {CompileError: ErrorConstructor}}).WebAssembly;
  return new CompileError(`WebAssembly.Module(): ${why}`);
}
