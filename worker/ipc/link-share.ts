/**
 * State that the links of all routers share in a worker, for limits that apply to their total. Routers of other hosts
 * connect too, in any number, so the share of a link depends on the links that are open.
 */
import {WORKER_LINK_OUTPUT_BYTES_MIN, WORKER_OUTPUT_BYTES_MAX} from './limits.ts';
import type {RouterCaches} from './router-caches.ts';

export class LinkShare {
  /** Maximum output buffered for one router before its requests are no longer read. */
  outputBytesMax = 0;
  /** Number of replies that iterators feed. */
  fedStreams = 0;
  readonly caches: RouterCaches;
  readonly #routers: number;
  #links = 0;

  /** @param routers number of routers of this host, each of which can connect at any time */
  constructor(routers: number, caches: RouterCaches) {
    this.caches = caches;
    this.#routers = routers;
    this.#divide();
  }

  opened(): void {
    this.#links++;
    this.#divide();
  }

  closed(): void {
    this.#links--;
    this.#divide();
  }

  #divide(): void {
    const share = WORKER_OUTPUT_BYTES_MAX / Math.max(this.#routers, this.#links);
    this.outputBytesMax = Math.max(WORKER_LINK_OUTPUT_BYTES_MIN, share);
  }
}
