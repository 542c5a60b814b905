/** The documents that are measured with: the same in every run, for every server. */

export type BenchDocument = {
  name: string;
  category: string;
  rank: number;
  active: boolean;
  note: string;
};

export const ITEMS = 10_000;
export const CATEGORIES = 50;
export const SMALL_ITEMS = 20;
export const QUERY_LIMIT = 20;

/** Far more documents than any cache of rows holds, with so many categories that the queries of all of them read each one. */
export const WIDE_ITEMS = 100_000;
export const WIDE_CATEGORIES = WIDE_ITEMS / QUERY_LIMIT;

const WORDS = 'amber birch cedar delta ember frost grove hazel iris juniper kelp linden maple nectar olive pine'.split(
  ' ',
);

export function benchDocument(index: number): BenchDocument {
  const random = sequence(index + 1);
  const word = (): string => WORDS[random() % WORDS.length]!;
  return {
    name: `item ${index} ${word()}`,
    category: `c${index % CATEGORIES}`,
    rank: random() % 1_000_000,
    active: index % 3 !== 0,
    note: Array.from({length: 16}, word).join(' '),
  };
}

export function wideDocument(index: number): BenchDocument {
  return {...benchDocument(index), category: wideCategory(index)};
}

export function wideCategory(index: number): string {
  return `w${index % WIDE_CATEGORIES}`;
}

/** A small generator of its own, so that every run and every machine has the same documents. */
function sequence(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
}
