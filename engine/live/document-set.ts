/**
 * Numbers of documents as bits, in blocks that are there while one of them is set: documents of a table are numbered one after another, so
 * that a million of them take some 130 kB.
 */
const BLOCK_BITS = 4_096;
const WORDS = BLOCK_BITS / 32;
/** What a block takes beside its bits. */
const BLOCK_OVERHEAD_BYTES = 200;

type Block = {readonly bits: Uint32Array; set: number};

export class DocumentSet {
  readonly #blocks = new Map<number, Block>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** What it takes, about. */
  get bytes(): number {
    return this.#blocks.size * (BLOCK_BITS / 8 + BLOCK_OVERHEAD_BYTES);
  }

  add(doc: number): void {
    const [number, word, bit] = placeOf(doc);
    let block = this.#blocks.get(number);
    if (block === undefined) {
      block = {bits: new Uint32Array(WORDS), set: 0};
      this.#blocks.set(number, block);
    }
    if ((block.bits[word]! & bit) !== 0) return;
    block.bits[word]! |= bit;
    block.set++;
    this.#size++;
  }

  delete(doc: number): void {
    const [number, word, bit] = placeOf(doc);
    const block = this.#blocks.get(number);
    if (block === undefined || (block.bits[word]! & bit) === 0) return;
    block.bits[word]! &= ~bit;
    block.set--;
    this.#size--;
    if (block.set === 0) this.#blocks.delete(number);
  }

  clear(): void {
    this.#blocks.clear();
    this.#size = 0;
  }
}

/** Numbers are above 2^32: no bit operators for the block. */
function placeOf(doc: number): [block: number, word: number, bit: number] {
  const at = doc % BLOCK_BITS;
  return [Math.floor(doc / BLOCK_BITS), at >>> 5, 1 << (at & 31)];
}
