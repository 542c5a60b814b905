/** What the design wants of a figure, and whether it is so. */
export type Met = {what: string; measured: number; wanted: string; isMet: boolean};

export function atLeast(what: string, wanted: number, measured: number, unit = ''): Met {
  return {what, measured, wanted: `at least ${wanted}${unit}`, isMet: measured >= wanted};
}

export function atMost(what: string, wanted: number, measured: number, unit = ''): Met {
  return {what, measured, wanted: `at most ${wanted}${unit}`, isMet: measured <= wanted};
}
