/** Holds the newest added entries, limited in number and in characters; at least one is always kept. */
type StoredEntry<Entry> = {entry: Entry; text: string};

export class NewestEntries<Entry> {
  readonly #entriesMax: number;
  readonly #charsMax: number;
  readonly #kept: StoredEntry<Entry>[] = [];
  #chars = 0;
  #hasForgotten = false;

  constructor(entriesMax: number, charsMax: number) {
    this.#entriesMax = entriesMax;
    this.#charsMax = charsMax;
  }

  get size(): number {
    return this.#kept.length;
  }

  get hasForgotten(): boolean {
    return this.#hasForgotten;
  }

  add(entry: Entry, text: string): void {
    this.#kept.push({entry, text});
    this.#chars += text.length;
    while (this.#kept.length > this.#entriesMax || (this.#chars > this.#charsMax && this.#kept.length > 1)) {
      this.#chars -= this.#kept.shift()!.text.length;
      this.#hasForgotten = true;
    }
  }

  entries(): readonly StoredEntry<Entry>[] {
    return this.#kept;
  }

  /** The newest `count` as JSON lines, oldest first. */
  text(count: number): string {
    return this.#kept
      .slice(Math.max(0, this.#kept.length - count))
      .map(({text}) => text)
      .join('');
  }
}
