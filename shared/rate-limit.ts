/** A limit on the rate of requests: the average, and the burst. */
export type RateLimit = {
  readonly requests_per_second: number;
  /** An integer. */
  readonly burst: number;
};
