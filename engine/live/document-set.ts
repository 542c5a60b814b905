/**
 * A set of document numbers as a bitmap, in blocks that exist while one of their bits is set. Documents of a table are
 * numbered consecutively, so a million of them take about 130 kB.
 */
const BLOCK_BITS = 4_096;
const WORDS = BLOCK_BITS / 32;
/** Memory of a block in addition to its bits. */
const BLOCK_OVERHEAD_BYTES = 200;

type Block = {readonly bits: Uint32Array; set: number};

export class DocumentSet {
  readonly #blocks = new Map<number, Block>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Memory it uses, approximately. */
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

/** Numbers are above 2^32: bit operators cannot compute the block. */
function placeOf(doc: number): [block: number, word: number, bit: number] {
  const at = doc % BLOCK_BITS;
  return [Math.floor(doc / BLOCK_BITS), at >>> 5, 1 << (at & 31)];
}
