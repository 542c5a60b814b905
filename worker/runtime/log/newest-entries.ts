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

  /**
   * The newest `count` as JSON lines, oldest first. @param earlier entries from before those added here, oldest first:
   * read if the ones held here are too few and none was forgotten
   */
  async history(count: number, earlier: () => AsyncIterable<StoredEntry<Entry>>): Promise<string> {
    const missing = Math.min(count, this.#entriesMax) - this.#kept.length;
    if (missing <= 0 || this.#hasForgotten) return this.text(count);
    const before = new NewestEntries<Entry>(missing, this.#charsMax);
    for await (const {entry, text} of earlier()) before.add(entry, text);
    return before.text(missing) + this.text(count);
  }
}
