/** Builds a string from UTF-16 units in batches: one call per unit would cost more than the decoding. */
const UNITS = 4096;

export class UnitBuffer {
  readonly #units = new Uint16Array(UNITS);
  #length = 0;
  #text = '';

  unit(unit: number): void {
    if (this.#length === UNITS) this.#flush();
    this.#units[this.#length++] = unit;
  }

  point(point: number): void {
    if (point < 0x10000) this.unit(point);
    else {
      this.unit(0xd800 + ((point - 0x10000) >> 10));
      this.unit(0xdc00 + ((point - 0x10000) & 0x3ff));
    }
  }

  text(): string {
    this.#flush();
    return this.#text;
  }

  #flush(): void {
    this.#text += String.fromCharCode.apply(null, this.#units.subarray(0, this.#length) as unknown as number[]);
    this.#length = 0;
  }
}
