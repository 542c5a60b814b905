/**
 * `fetch` for the worker's own requests, the keys of auth providers. undici is loaded with the first request, because
 * most tenants never need it.
 */
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import type {Egress} from './connector.ts';
import type {EgressRequest, EgressResponse} from './fetch.ts';

export class LazyFetch {
  readonly #endpoint: () => EgressEndpoint;
  #egress: Egress | null = null;

  constructor(endpoint: () => EgressEndpoint) {
    this.#endpoint = endpoint;
  }

  /** Same as `egressFetch`. */
  readonly fetch = async (request: EgressRequest): Promise<EgressResponse> => {
    const {Egress, egressFetch} = await import('./fetch.ts');
    this.#egress ??= new Egress(this.#endpoint());
    return await egressFetch(this.#egress, request);
  };

  /** Closes every connection; the next fetch opens new ones. */
  async close(): Promise<void> {
    const egress = this.#egress;
    this.#egress = null;
    await egress?.close();
  }
}
