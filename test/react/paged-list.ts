/** What a list in pages must show, told naively: all there is in order, up to where its last page ends. */

export type Command = {toggle: number} | {loadMore: number} | 'cut';

/** A really shown list, driven by a test. */
export type PagedListDriver = {
  /** Inserts a key, or deletes it if it is there. Resolves when the list must show it. */
  toggle(key: number): Promise<void>;
  /** Resolves when the page is there. */
  loadMore(numItems: number): Promise<void>;
  /** The connection is lost. Resolves when the list is current again. */
  cut(): Promise<void>;
  shown(): {keys: number[]; status: string};
  /** All that was on the page since the last call, `LoadingFirstPage` left out. */
  frames(): number[][];
  close(): Promise<void>;
};

export class NaiveList {
  readonly #keys: Set<number>;
  /** The last key of the last page; infinity: it has no end. */
  #end = Number.NEGATIVE_INFINITY;

  constructor(keys: readonly number[], initialNumItems: number) {
    this.#keys = new Set(keys);
    this.#loadPage(initialNumItems);
  }

  get expected(): {keys: number[]; status: string} {
    return {keys: this.#shown(), status: this.#end === Number.POSITIVE_INFINITY ? 'Exhausted' : 'CanLoadMore'};
  }

  toggle(key: number): void {
    if (!this.#keys.delete(key)) this.#keys.add(key);
  }

  loadMore(numItems: number): void {
    if (this.#end !== Number.POSITIVE_INFINITY) this.#loadPage(numItems);
  }

  #loadPage(numItems: number): void {
    const rest = this.#sorted().filter(key => key > this.#end);
    this.#end = rest.length < numItems ? Number.POSITIVE_INFINITY : (rest[numItems - 1] ?? this.#end);
  }

  #shown(): number[] {
    return this.#sorted().filter(key => key <= this.#end);
  }

  #sorted(): number[] {
    return [...this.#keys].sort((a, b) => a - b);
  }
}

/** Runs the commands against both. @throws Error that names the command after which they differ */
export async function runBeside(
  driver: PagedListDriver,
  model: NaiveList,
  commands: readonly Command[],
): Promise<void> {
  check(driver, model, 'the first page', []);
  for (const [index, command] of commands.entries()) {
    const before = model.expected.keys;
    if (command === 'cut') await driver.cut();
    else if ('toggle' in command) {
      model.toggle(command.toggle);
      await driver.toggle(command.toggle);
    } else {
      model.loadMore(command.loadMore);
      await driver.loadMore(command.loadMore);
    }
    check(driver, model, `command ${index}, ${JSON.stringify(command)}`, before);
  }
}

function check(driver: PagedListDriver, model: NaiveList, when: string, before: number[]): void {
  const shown = JSON.stringify(driver.shown());
  const expected = JSON.stringify(model.expected);
  if (shown !== expected) throw new Error(`after ${when} the list is ${shown} and not ${expected}`);
  // Between two moments there is no third: no gap, nothing doubled, nothing gone for a frame.
  const allowed = [before, model.expected.keys].map(keys => JSON.stringify(keys));
  const strange = driver
    .frames()
    .map(keys => JSON.stringify(keys))
    .find(keys => !allowed.includes(keys));
  if (strange !== undefined)
    throw new Error(`on the way to ${when} the list was ${strange}, not one of ${allowed.join(' ')}`);
}
