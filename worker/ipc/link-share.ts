/** State that the links of all routers share in a worker, for limits that apply to their total. */
import {WORKER_OUTPUT_BYTES_MAX} from './limits.ts';

export class LinkShare {
  /** Maximum output buffered for one router before its requests are no longer read. */
  readonly outputBytesMax: number;
  /** Number of replies that iterators feed. */
  fedStreams = 0;

  /** @param routers number of routers that can connect */
  constructor(routers: number) {
    this.outputBytesMax = WORKER_OUTPUT_BYTES_MAX / routers;
  }
}
