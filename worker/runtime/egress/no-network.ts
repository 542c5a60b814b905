/** Refuses network operations where there is no network at all. */
import {EgressRefused} from '../../../shared/egress/refused.ts';
import type {Egress} from './connector.ts';
import type {EgressClient} from './egress-client.ts';

const NO_NETWORK = 'There is no network here; a sandbox has one when it is created with "network": true';

/** @throws TypeError if there is no network */
export function connected(egress: Egress | null): Egress {
  if (egress === null) throw new TypeError(NO_NETWORK);
  return egress;
}

export const NO_EGRESS: Pick<EgressClient, 'open' | 'lookup' | 'carries' | 'drop'> = {
  open: () => Promise.reject(new EgressRefused(NO_NETWORK)),
  lookup: () => Promise.reject(new EgressRefused(NO_NETWORK)),
  carries: () => undefined,
  drop: () => undefined,
};
