/**
 * The time of one host. Leases and waits are durations on one clock each; clocks of two hosts are never compared. The
 * protocol is right while the clocks of two hosts run at speeds that differ by less than `LEASE_WAIT` (a tenth).
 */
import {monotonicMs} from '../../shared/monotonic.ts';
import {REAL_TIMING, type Timing} from '../log/timing.ts';

export interface Clock extends Timing {
  /**
   * Milliseconds on a clock that only goes forward. All processes of a host read the same one, so that a deadline can be
   * sent as an instant; its zero means nothing.
   */
  readonly nowMs: number;
}

/** The clock of this machine, read at each access. */
export const MONOTONIC_CLOCK: Clock = {
  after: REAL_TIMING.after,
  get nowMs() {
    return monotonicMs();
  },
};
