/** What the links of all routers share in a worker: limits hold for them together. */
import {WORKER_OUTPUT_BYTES_MAX} from './limits.ts';

export class LinkShare {
  /** Output that may wait for one router before no more requests of it are taken. */
  readonly outputBytesMax: number;
  /** Replies that iterators feed. */
  fedStreams = 0;

  /** @param routers how many may connect */
  constructor(routers: number) {
    this.outputBytesMax = WORKER_OUTPUT_BYTES_MAX / routers;
  }
}
