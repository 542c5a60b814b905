/** Downloads copies in order, some of them ahead of the one in use: bounded by number and by bytes on disk. */
import {join} from 'node:path';
import {RESTORE_AHEAD_BYTES, RESTORE_FETCHES} from '../limits.ts';

/** @param directory gets one file for each, which the caller removes */
export async function* fetched<Item extends {readonly bytes: number}>(
  items: readonly Item[],
  fetch: (item: Item, path: string) => Promise<void>,
  directory: string,
): AsyncGenerator<{item: Item; path: string}> {
  const under: {item: Item; path: Promise<string>}[] = [];
  let next = 0;
  try {
    while (next < items.length || under.length > 0) {
      while (next < items.length && hasCapacity(under, items[next]!)) {
        under.push(started(items[next]!, join(directory, `${next}.set`), fetch));
        next++;
      }
      const {item, path} = under[0]!;
      const at = await path;
      yield {item, path: at};
      under.shift();
    }
  } finally {
    await Promise.allSettled(under.map(({path}) => path));
  }
}

function hasCapacity(under: readonly {item: {readonly bytes: number}}[], item: {readonly bytes: number}): boolean {
  const bytes = under.reduce((sum, one) => sum + one.item.bytes, item.bytes);
  return under.length === 0 || (under.length < RESTORE_FETCHES && bytes <= RESTORE_AHEAD_BYTES);
}

function started<Item>(item: Item, path: string, fetch: (item: Item, path: string) => Promise<void>) {
  const fetching = fetch(item, path).then(() => path);
  // Awaited later; without this, a failure meanwhile would count as unhandled.
  fetching.catch(() => undefined);
  return {item, path: fetching};
}
