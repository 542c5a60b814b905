/**
 * A host that has tenants: its membership, and a holder for each tenant that keeps what the log has in memory. A write is
 * acknowledged when the log has it; a read is answered from memory while the host has its lease.
 */
import type {LogPosition} from '../../../cluster/log/record.ts';
import type {TenantName} from '../../../cluster/log/subjects.ts';
import type {LogRecord, OpenOutcome, TenantLog} from '../../../cluster/log/tenant-log.ts';
import {delay} from '../../../cluster/log/timing.ts';
import {type Grant, type Holder, HostTenants, type Located} from '../../../cluster/ownership/host-tenants.ts';
import type {Owner} from '../../../cluster/ownership/tenant-record.ts';
import {HEADER_BYTES} from '../../../engine/copies/page-set.ts';
import type {MemoryStreams} from './memory-engine.ts';
import {commit, note} from './rig.ts';
import {type MemberOptions, TestMember} from './test-member.ts';
import type {VirtualTime} from './virtual-time.ts';

/** One safeguard taken out. */
export type OwnerMutant = 'none' | 'reads_without_lease' | 'former_owner_not_awaited' | 'log_not_opened';

export type OwningOptions = MemberOptions & {readonly mutant?: OwnerMutant};

class MemoryHolder implements Holder {
  readonly values: string[] = [];
  readonly #host: OwningHost;
  readonly #id: string;
  #tail: LogPosition | null = null;
  #openedBy: string | null = null;
  #grant: Grant | null = null;
  #writing: Promise<unknown> = Promise.resolve();
  isServing = false;

  get tail(): LogPosition | null {
    return this.#tail;
  }

  constructor(host: OwningHost, id: string) {
    this.#host = host;
    this.#id = id;
  }

  async open(grant: Grant): Promise<OpenOutcome> {
    const {log, epoch, note: by, ownerEnds, signal} = grant;
    const {mutant} = this.#host;
    const apply = (record: LogRecord) => this.#apply(record);
    if (mutant === 'log_not_opened') {
      for await (const record of log.read(this.#tail)) await apply(record);
      if (this.#tail !== null && this.#tail.kind !== 'close') {
        // The format refuses a later epoch without its `open`, so it goes on with the earlier one.
        this.#grant = {...grant, epoch: this.#tail.epoch};
        this.isServing = true;
        return {kind: 'opened', position: this.#tail};
      }
    }
    const outcome = await log.open({
      epoch,
      note: by,
      from: this.#tail,
      openedBy: this.#openedBy,
      apply,
      ownerEnds: mutant === 'former_owner_not_awaited' ? () => {} : ownerEnds,
      signal,
    });
    if (outcome.kind !== 'opened') return outcome;
    this.#tail = outcome.position;
    this.#grant = grant;
    this.isServing = true;
    return outcome;
  }

  async #apply(record: LogRecord): Promise<void> {
    const text = await textOf(record);
    if (record.head.kind === 'commit') this.values.push(text);
    if (record.head.kind === 'open') this.#openedBy = text;
    this.#tail = record.position;
  }

  /** @returns whether it is acknowledged; null: that is not known, or not yet */
  write(value: string): Promise<boolean | null> {
    const written = this.#writing.then(() => this.#write(value));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(value: string): Promise<boolean | null> {
    const grant = this.#grant;
    // A host whose lease has ended writes nothing more, so that the next owner can open.
    if (!this.isServing || grant === null || !this.#host.lease.holds()) return false;
    const outcome = await grant.log.append(this.#tail, commit(grant.epoch, value), grant.signal);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (decision.kind === 'committed') {
      this.#tail = decision.position;
      this.values.push(value);
      return true;
    }
    if (decision.kind === 'abandoned') return null;
    this.isServing = false;
    void this.#host.tenants.lost(this.#id, grant.epoch);
    return decision.kind === 'unknowable' ? null : false;
  }

  async close(): Promise<boolean> {
    this.isServing = false;
    await this.#writing;
    const {log, epoch, signal} = this.#grant!;
    const outcome = await log.append(this.#tail, note('close', epoch), signal);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    return decision.kind === 'committed';
  }

  async end(): Promise<void> {
    this.isServing = false;
    await this.#host.clock.step();
    await this.#writing;
  }
}

export class OwningHost extends TestMember {
  readonly tenants: HostTenants;
  readonly mutant: OwnerMutant;
  readonly #holders = new Map<string, MemoryHolder>();
  #work: Promise<unknown> | null = null;
  #isMember = false;

  constructor(time: VirtualTime, streams: MemoryStreams, {mutant = 'none', ...options}: OwningOptions) {
    super(time, streams, options);
    this.mutant = mutant;
    const {replicated, members, clock} = this;
    this.tenants = new HostTenants({
      replicated,
      members,
      clock,
      self: () => (this.#isMember ? this.self : null),
      holderOf: tenant => this.#holderOf(tenant),
      report: sentence => this.reports.push(sentence),
    });
  }

  get self(): Owner {
    return {host: this.lease.host, incarnation: this.lease.incarnation};
  }

  /** Joins, renews and watches until it is killed; joins again when its lease was expired. */
  live(previousStart: string | null): void {
    this.#work = Promise.all([this.tenants.watch(this.signal), this.#belong(previousStart)]);
  }

  async #belong(previousStart: string | null): Promise<void> {
    while (!this.signal.aborted) {
      const outcome = await this.lease.join(previousStart, this.signal);
      if (outcome.kind === 'joined') {
        this.#isMember = true;
        await this.lease.renew(this.signal);
        this.#isMember = false;
        await this.tenants.endAll();
      } else await delay(this.clock, 1_000);
    }
  }

  override async kill(): Promise<void> {
    for (const holder of this.#holders.values()) holder.isServing = false;
    await super.kill();
    await this.#work;
  }

  async locate(id: string, isForwarded: boolean): Promise<Located> {
    await this.clock.step();
    return this.tenants.locate(id, isForwarded);
  }

  /** Null: this host can't say. */
  read(id: string): readonly string[] | null {
    const holder = this.#holders.get(id);
    const mayRead = this.lease.holds() || this.mutant === 'reads_without_lease';
    return holder?.isServing && mayRead && !this.signal.aborted ? [...holder.values] : null;
  }

  async write(id: string, value: string): Promise<boolean | null> {
    return (await this.#holders.get(id)?.write(value)) ?? false;
  }

  #holderOf({id}: TenantName): MemoryHolder {
    const holder = new MemoryHolder(this, id);
    this.#holders.set(id, holder);
    return holder;
  }
}

async function textOf({head, body}: LogRecord): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of body()) parts.push(part);
  const bytes = Buffer.concat(parts);
  return (head.kind === 'commit' ? bytes.subarray(HEADER_BYTES) : bytes).toString();
}

/** What a log has, as one that only reads it finds it. */
export async function valuesOf(log: TenantLog): Promise<string[]> {
  const values: string[] = [];
  for await (const record of log.read(null)) if (record.head.kind === 'commit') values.push(await textOf(record));
  return values;
}
