/** Refuses network operations where there is no network at all. */
import {EgressRefused} from '../../../shared/egress/refused.ts';
import type {Egress} from './connector.ts';
import type {WayOut} from './way-out.ts';

const NO_NETWORK = 'There is no network here; a sandbox has one when it is created with "network": true';

/** @throws TypeError if there is no network */
export function connected(egress: Egress | null): Egress {
  if (egress === null) throw new TypeError(NO_NETWORK);
  return egress;
}

export const NO_WAY_OUT: Pick<WayOut, 'open' | 'lookup' | 'carries' | 'drop'> = {
  open: () => Promise.reject(new EgressRefused(NO_NETWORK)),
  lookup: () => Promise.reject(new EgressRefused(NO_NETWORK)),
  carries: () => undefined,
  drop: () => undefined,
};
