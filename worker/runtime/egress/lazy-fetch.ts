/**
 * `fetch` for what the worker itself wants from outside, the keys of auth providers: undici is loaded with the first one,
 * because most tenants never need it.
 */
import type {EgressDoor} from '../../../shared/ipc/egress.ts';
import type {Egress} from './connector.ts';
import type {EgressRequest, EgressResponse} from './fetch.ts';

export class LazyFetch {
  readonly #door: () => EgressDoor;
  #egress: Egress | null = null;

  constructor(door: () => EgressDoor) {
    this.#door = door;
  }

  /** As `egressFetch`. */
  readonly fetch = async (request: EgressRequest): Promise<EgressResponse> => {
    const {Egress, egressFetch} = await import('./fetch.ts');
    this.#egress ??= new Egress(this.#door());
    return await egressFetch(this.#egress, request);
  };

  /** Ends every connection; the next fetch makes others. */
  async close(): Promise<void> {
    const egress = this.#egress;
    this.#egress = null;
    await egress?.close();
  }
}
