/** A host with its connection, entry and lease, on the log in memory. */
import type {LogEngine} from '../../../cluster/log/log-engine.ts';
import {ReplicatedLog} from '../../../cluster/log/replicated-log.ts';
import {HostLease} from '../../../cluster/members/host-lease.ts';
import {Members} from '../../../cluster/members/members.ts';
import {type Fault, FaultyEngine, type Request} from './faulty-engine.ts';
import {MemoryEngine, type MemoryStreams} from './memory-engine.ts';
import {PausableHost} from './pausable-host.ts';
import {CLUSTER} from './rig.ts';
import type {VirtualTime} from './virtual-time.ts';

export type MemberOptions = {
  readonly host: string;
  /** 32 hexadecimal digits. Default: derived from the name. */
  readonly start?: string;
  readonly speed?: number;
  readonly choosesPause?: () => number;
  readonly choosesFault?: (request: Request) => Fault;
  readonly lagMs?: () => number;
  /** Makes a mutant of the connection. */
  readonly wrap?: ((engine: LogEngine) => LogEngine) | undefined;
  /** Mutant: what the others believe the lease to be. */
  readonly believedLeaseMs?: number | undefined;
  readonly onDeadline?: () => void;
};

/** What a host reports about itself. */
export const ABOUT = {peer: '127.0.0.1:4443', capacity: 1, versions: {svc: '1.0.0', records: 1, storage: 17}};

export class TestMember {
  readonly clock: PausableHost;
  readonly engine: FaultyEngine;
  readonly replicated: ReplicatedLog;
  readonly members: Members;
  readonly lease: HostLease;
  readonly reports: string[] = [];
  readonly #end = new AbortController();
  readonly #watching: Promise<void>;

  constructor(time: VirtualTime, streams: MemoryStreams, options: MemberOptions) {
    const {host, start = Buffer.from(host).toString('hex').padEnd(32, '0'), wrap = engine => engine} = options;
    this.clock = new PausableHost(time, options.speed, options.choosesPause);
    this.engine = new FaultyEngine(new MemoryEngine(streams, time), time, options.choosesFault ?? (() => 'none'));
    this.replicated = new ReplicatedLog(this.clock.pausing(wrap(this.engine), options.lagMs), CLUSTER, this.clock);
    const {records} = this.replicated;
    const {clock} = this;
    const report = (sentence: string) => this.reports.push(sentence);
    this.members = new Members({records, clock, leaseMs: options.believedLeaseMs, report});
    const {members} = this;
    this.lease = new HostLease({records, clock, members, host, start, about: ABOUT, onDeadline: options.onDeadline});
    this.#watching = this.members.watch(this.signal);
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** As kill -9 does: nothing of it goes on, and its entry stays. */
  async kill(): Promise<void> {
    this.#end.abort();
    await this.#watching;
  }
}
