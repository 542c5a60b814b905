/**
 * `fetch` for what the worker itself wants from outside, the keys of auth providers: undici is loaded with the first one,
 * because most tenants never need it.
 */
import type {EgressRequest, EgressResponse} from './fetch.ts';
import {EgressPolicy, type EgressSettings} from './policy.ts';

export class LazyFetch {
  #policy: EgressPolicy;
  /** Connections may have been made under the policy. */
  #isUsed = false;

  constructor(settings: EgressSettings) {
    this.#policy = EgressPolicy.of(settings);
  }

  /** From now on; connections made under the policy before are ended. */
  async use(settings: EgressSettings): Promise<void> {
    const closed = this.close();
    this.#policy = EgressPolicy.of(settings);
    await closed;
  }

  /** As `egressFetch`. */
  readonly fetch = async (request: EgressRequest): Promise<EgressResponse> => {
    this.#isUsed = true;
    const {egressFetch} = await import('./fetch.ts');
    return await egressFetch(this.#policy, request);
  };

  /** Ends every connection. */
  async close(): Promise<void> {
    if (!this.#isUsed) return;
    const policy = this.#policy;
    const {closeEgress} = await import('./connector.ts');
    await closeEgress(policy);
  }
}
