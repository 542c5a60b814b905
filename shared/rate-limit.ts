/** How many requests may come: on average, and at once. */
export type RateLimit = {
  readonly requests_per_second: number;
  /** Whole. */
  readonly burst: number;
};
