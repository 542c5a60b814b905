/** Does something for each item, for a few at a time. @returns the results in the order of the items */
export async function inBatches<T, R>(items: readonly T[], most: number, act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await act(items[at]!);
  };
  await Promise.all(Array.from({length: Math.min(most, items.length)}, work));
  return results;
}
