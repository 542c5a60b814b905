/**
 * This host in the cluster: its connection to the log, its membership, and the tenants that it owns. The supervisor runs
 * the workers (`shared/ipc/cluster.ts`).
 *
 *   start ──▶ NATS is checked ──▶ entries are read ──▶ join ──▶ member ──the lease was expired──▶ all workers end ──┐
 *                │                                      ▲                                                           │
 *                └─▶ refused: one sentence              └───────────────────────────────────────────────────────────┘
 */
import {mkdirSync, rmSync} from 'node:fs';
import type {
  ClusterProcessSettings,
  ClusterToSupervisor,
  SupervisorToCluster,
  TenantLocation,
} from '../../shared/ipc/cluster.ts';
import type {EndpointKey} from '../../shared/ipc/egress.ts';
import type {Logger} from '../../shared/log.ts';
import {NEWEST_STORAGE_VERSION} from '../../shared/storage-version.ts';
import {LogSpools} from '../copies/log-spools.ts';
import type {LeaseNotice} from '../endpoint/endpoint-message.ts';
import {DUE_POLL_MS, END_DELETED_MS, INCARNATIONS_AHEAD_MAX, LEASE_WAIT, RENEW_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import {RECORD_FORMAT} from '../log/record.ts';
import {ReplicatedLog} from '../log/replicated-log.ts';
import {Subjects, type TenantName} from '../log/subjects.ts';
import {delay} from '../log/timing.ts';
import {MONOTONIC_CLOCK} from '../members/clock.ts';
import {HostLease} from '../members/host-lease.ts';
import {Members, placedHosts} from '../members/members.ts';
import {readCredentials} from '../nats/credentials.ts';
import {MonitorPages} from '../nats/monitor-pages.ts';
import type {NatsEngine} from '../nats/nats-engine.ts';
import {ServerSpace} from '../nats/server-space.ts';
import {SpacedEngine} from '../nats/spaced-engine.ts';
import {startOnNats} from '../nats/start-check.ts';
import {StreamCopies} from '../nats/stream-copies.ts';
import {streamPrefixOf} from '../nats/stream-settings.ts';
import {HostTenants} from '../ownership/host-tenants.ts';
import {TenantEntries} from '../ownership/tenant-entries.ts';
import {isSameOwner, type Owner, ownerOfNote, type TenantRecord} from '../ownership/tenant-record.ts';
import type {PlacedHost} from '../placement/placement.ts';
import {CopyRate} from '../standby/copy-rate.ts';
import {FileThreads} from '../standby/file-threads.ts';
import {Standbys} from '../standby/standbys.ts';
import {ClusterKeys} from './cluster-keys.ts';
import {Drain} from './drain.ts';
import {dueTenants} from './due-tenants.ts';
import {FilesOfLogs} from './files-of-logs.ts';
import {FreeSpace} from './free-space.ts';
import {HostMetrics} from './host-metrics.ts';
import {HostPackages} from './host-packages.ts';
import {KnownTenants} from './known-tenants.ts';
import {Leftovers} from './leftovers.ts';
import {LogShares} from './log-shares.ts';
import {LostTails} from './lost-tails.ts';
import {nowhere} from './nowhere.ts';
import {OwnerEndings} from './owner-endings.ts';
import {type Move, Rebalance} from './rebalance.ts';
import {type KnownTenant, Rebuilds} from './rebuilds.ts';
import {WorkerHolder} from './worker-holder.ts';

type Start = Extract<SupervisorToCluster, {type: 'start'}>;

export class ClusterHost {
  readonly settings: ClusterProcessSettings;
  readonly members: Members;
  readonly lease: HostLease;
  readonly tenants: HostTenants;
  readonly entries: TenantEntries;
  readonly keys: ClusterKeys;
  readonly replicated: ReplicatedLog;
  readonly metrics = new HostMetrics();
  readonly drain: Drain;
  readonly files: FilesOfLogs;
  readonly knownTenants: KnownTenants;
  readonly packages: HostPackages;
  readonly endings: OwnerEndings;
  readonly leftovers: Leftovers;
  /** For the copier of this host. */
  readonly spools: LogSpools;
  readonly #freeSpace: FreeSpace;
  readonly #shares: LogShares;
  readonly #standbys: Standbys;
  readonly #rebalance: Rebalance;
  readonly #fileThreads = new FileThreads();
  readonly #engine: NatsEngine;
  readonly #pages: MonitorPages;
  readonly #copies: StreamCopies;
  readonly #send: (message: ClusterToSupervisor) => void;
  readonly #log: Logger;
  readonly #end = new AbortController();
  readonly #holders = new Map<string, WorkerHolder>();
  readonly #start: string;
  #isMember = false;
  /** Resolves when all files of standbys are closed. */
  #standing: Promise<void> = Promise.resolve();
  #isListed: (() => void) | null = null;

  /** @throws NatsRefusal */
  static async start({settings, start, isDraining}: Start, send: (message: ClusterToSupervisor) => void, log: Logger) {
    const {ca, certificate, key, seed} = settings.nats;
    const files = Object.entries({ca, certificate, key, seed}).filter(([, path]) => path !== null);
    const credentials = readCredentials(Object.fromEntries(files));
    const {engine, warnings} = await startOnNats({
      cluster: settings.cluster,
      name: settings.host,
      servers: settings.servers,
      credentials,
      allowSingleLog: settings.allowSingleLog,
    });
    for (const warning of warnings) log.warn(warning);
    const monitors = settings.servers.map(({monitor}) => monitor);
    const pages = new MonitorPages(monitors, credentials.tls?.ca);
    const host = new ClusterHost({settings, start, engine, pages, send, log});
    if (isDraining) host.drain.begin();
    return host;
  }

  private constructor(parts: {
    settings: ClusterProcessSettings;
    start: string;
    engine: NatsEngine;
    pages: MonitorPages;
    send: (message: ClusterToSupervisor) => void;
    log: Logger;
  }) {
    const {settings, start, engine, pages, send, log} = parts;
    this.settings = settings;
    this.#start = start;
    this.#engine = engine;
    this.#pages = pages;
    this.#send = send;
    this.#log = log;
    const report = (sentence: string) => log.error(sentence);
    const server = new ServerSpace(pages);
    this.#freeSpace = new FreeSpace({
      changedSetting: stream => engine.changedSetting(stream),
      server,
      report,
      shards: () => new Set([...this.#holders.values()].map(({shard}) => shard)),
      clock: MONOTONIC_CLOCK,
      onChange: changed => {
        for (const holder of this.#holders.values()) if (holder.shard === changed) this.#tell(holder);
      },
    });
    const spaced = new SpacedEngine(engine, server);
    this.replicated = new ReplicatedLog(spaced, settings.cluster);
    const {records} = this.replicated;
    const {leaseMs} = settings;
    this.members = new Members({records, leaseMs, report});
    const versions = {svc: settings.svcVersion, records: RECORD_FORMAT, storage: NEWEST_STORAGE_VERSION};
    this.lease = new HostLease({
      ...{records, members: this.members, host: settings.host, start, leaseMs},
      about: {peer: settings.peerAddress, capacity: settings.capacity, versions},
      onStored: (revision, sentMs) => this.keys.ownStored(revision, sentMs),
      onDeadline: () => this.#tellLease(),
    });
    this.#rebalance = new Rebalance(this.members);
    this.entries = new TenantEntries(records, this.#end.signal);
    this.keys = new ClusterKeys({
      ...{records, clock: MONOTONIC_CLOCK, host: settings.host, leaseMs, send, report},
      onCurrent: () => this.#sendState(),
    });
    this.knownTenants = new KnownTenants({
      ...{hosts: engine, members: this.members, clock: MONOTONIC_CLOCK, host: settings.host},
    });
    const {scratch} = settings;
    const copyBytesPerSecond = settings.copyRateBytes === 0 ? null : settings.copyRateBytes;
    rmSync(scratch, {recursive: true, force: true});
    mkdirSync(scratch, {mode: 0o700});
    this.#standbys = new Standbys({
      replicated: this.replicated,
      members: this.members,
      clock: MONOTONIC_CLOCK,
      host: settings.host,
      standbys: settings.standbys,
      files: this.#fileThreads,
      fileOf: tenant => {
        const path = this.knownTenants.pathOf(tenant);
        return path === null ? null : {path, owner: null};
      },
      scratch,
      copyBytesPerSecond,
      freeBytes: () => this.#freeSpace.ofBases,
      onBase: bytes => {
        this.metrics.count('svc_cluster_bases_total');
        this.metrics.add('svc_cluster_base_bytes_total', bytes);
      },
      report,
    });
    this.spools = new LogSpools({
      replicated: this.replicated,
      clock: MONOTONIC_CLOCK,
      directory: settings.copies,
      copyBytesPerSecond,
      onSpooled: ({id, generation}) => send({type: 'spooled', tenant: id, generation}),
      report,
    });
    this.files = new FilesOfLogs({
      ...{replicated: this.replicated, files: this.#fileThreads, scratch, report, signal: this.#end.signal},
      rate: new CopyRate(copyBytesPerSecond, MONOTONIC_CLOCK),
      freeBytes: () => this.#freeSpace.ofBases,
      forget: tenant => void this.leftovers.forget(tenant),
    });
    this.#shares = new LogShares({
      ...{bases: this.replicated.bases, clock: MONOTONIC_CLOCK, freeBytes: shard => this.#freeSpace.of(shard)},
      onChange: id => this.#tell(this.#holders.get(id)),
    });
    const subjects = new Subjects(settings.cluster);
    const lostTails = new LostTails({
      ...{hosts: engine, replicated: this.replicated, members: this.members, clock: MONOTONIC_CLOCK, report, scratch},
      ...{host: settings.host, signal: this.#end.signal},
      inspect: (...wish) => this.#standbys.inspect(...wish),
    });
    this.packages = new HostPackages({
      ...{packages: this.replicated.packages, freeBytes: () => this.#freeSpace.ofBases, report},
      pathOf: tenant => this.knownTenants.pathOf(tenant),
    });
    const rebuilds = new Rebuilds({
      ...{replicated: this.replicated, packages: this.packages, clock: MONOTONIC_CLOCK},
      ...{host: settings.host, scratch, report},
      known: () => this.knownTenants.all(),
      inspect: (...wish) => this.#standbys.inspect(...wish),
      signal: this.#end.signal,
    });
    engine.answerHosts(
      settings.host,
      async request =>
        (await lostTails.answer(request)) ??
        (await rebuilds.answer(request)) ??
        (await this.knownTenants.answer(request)),
    );
    this.tenants = new HostTenants({
      replicated: this.replicated,
      members: this.members,
      clock: MONOTONIC_CLOCK,
      self: () => (this.#isMember && !this.#end.signal.aborted ? this.self : null),
      holderOf: tenant => {
        const holder = new WorkerHolder({
          ...{tenant, engine: spaced, subjects, report, lostTails, localLagMs: settings.localLagMs},
          ...{lease: () => this.#notice(tenant), share: this.#shares.of(tenant), packages: this.packages},
          supervisor: {
            granted: grant => send({type: 'granted', grant}),
            handOver: (id, epoch) => send({type: 'hand_over', tenant: id, epoch}),
            fence: (id, epoch) => send({type: 'fence', tenant: id, epoch}),
          },
          checkOwner: openedBy => this.#checkOwner(openedBy),
          holdFile: id => this.#standbys.hold(id),
          releaseFile: id => this.#standbys.release(id),
          onAnswered: (answer, ms) => {
            this.metrics.count('svc_cluster_appends_total', {answer});
            this.metrics.observe('svc_cluster_append_seconds', ms / 1_000);
          },
          onLost: (id, epoch) => void this.tenants.lost(id, epoch),
        });
        this.#holders.set(tenant.id, holder);
        return holder;
      },
      report,
      count: what =>
        this.metrics.count(what === 'takeover' ? 'svc_cluster_takeovers_total' : 'svc_cluster_hand_overs_total'),
      changed: (id, entry, before) => this.#changed(id, entry, before),
      listed: () => this.#isListed?.(),
    });
    this.endings = new OwnerEndings({
      ...{replicated: this.replicated, members: this.members, clock: MONOTONIC_CLOCK, signal: this.#end.signal},
      ...{tenants: this.tenants, self: () => this.self, waitMs: LEASE_WAIT * leaseMs + END_DELETED_MS},
    });
    this.leftovers = new Leftovers({
      ...{replicated: this.replicated, entries: this.entries, members: this.members, clock: MONOTONIC_CLOCK, log},
      ...{self: () => this.self, onGone: tenant => this.#shares.forget(tenant), signal: this.#end.signal},
      isKnown: tenant => this.knownTenants.pathOf(tenant) !== null,
    });
    this.#copies = new StreamCopies({pages, prefix: streamPrefixOf(subjects), clock: MONOTONIC_CLOCK, report});
    const {members, lease, tenants} = this;
    this.drain = new Drain({
      ...{records, host: settings.host, start, tenants, signal: this.#end.signal},
      hosts: () => this.hosts(),
      moveAll: moves => this.#moveAll(moves),
      onBegin: () => {
        lease.drain();
        this.#sendState();
      },
    });
    const nowMs = () => MONOTONIC_CLOCK.nowMs;
    this.metrics.read({
      ...{members, lease, tenants, engine, nowMs},
      ...{standbys: this.#standbys, freeSpace: this.#freeSpace, copies: this.#copies},
    });
  }

  get state(): 'joining' | 'live' | 'draining' | 'left' {
    if (this.#end.signal.aborted) return 'left';
    if (!this.#isMember) return 'joining';
    return this.drain.hasBegun ? 'draining' : 'live';
  }

  /** Aborts when this host leaves the cluster. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  get self(): Owner {
    return {host: this.lease.host, incarnation: this.lease.incarnation};
  }

  /** Joins and stays a member until it is closed. @param previousStart a start of svc that has ended; null: none is known */
  async live(previousStart: string | null): Promise<void> {
    const {signal} = this.#end;
    const listed = new Promise<void>(resolve => {
      this.#isListed = resolve;
    });
    this.#standing = this.#standbys.run(signal);
    const {members, tenants, keys} = this;
    void Promise.all([members.watch(signal), tenants.watch(signal), keys.watch(signal), this.#wakeDue(signal)]);
    void Promise.all([
      this.#freeSpace.run(signal),
      this.#shares.run(signal),
      this.#copies.run(signal),
      this.leftovers.run(),
    ]);
    await Promise.all([listed, keys.listed(signal)]);
    for (let ended = previousStart; !signal.aborted; ended = this.#start) {
      if (await this.drain.isRequested()) this.drain.begin();
      const outcome = await this.lease.join(ended, signal);
      if (outcome.kind === 'abandoned') return;
      if (outcome.kind === 'refused') {
        this.#send({type: 'refused', message: outcome.sentence});
        return;
      }
      this.#isMember = true;
      this.#tellLease();
      this.#log.info('this host is a member of the cluster', {...this.self});
      this.#send({type: 'joined', incarnation: outcome.incarnation});
      const end = await this.lease.renew(signal);
      this.#isMember = false;
      this.#tellLease();
      if (end === 'stopped') return;
      this.#log.error('this host is no member of the cluster any more: its workers end', {why: end});
      await this.tenants.endAll();
      if (end === 'superseded') {
        this.#send({type: 'refused', message: `another svc has joined with the host name ${this.lease.host}`});
        return;
      }
    }
  }

  async locate(id: string, isForwarded: boolean): Promise<TenantLocation> {
    const located = await this.tenants.locate(id, isForwarded);
    if (located.kind === 'here') return {kind: 'here'};
    if (located.kind === 'there') return this.#there(id, located.host);
    return nowhere(id, located);
  }

  /** The tenant has a directory here. @param path of its file. @param epoch of the entry that this host follows */
  known(tenant: KnownTenant, path: string, epoch: number): void {
    this.knownTenants.add(tenant, path, epoch);
    this.#standbys.known(tenant.id);
  }

  worker(tenant: string, epoch: number, endpoint: EndpointKey): void {
    const holder = this.#holders.get(tenant);
    if (holder?.epoch === epoch) holder.worker(endpoint);
  }

  workerEnded(tenant: string, epoch: number): void {
    const holder = this.#holders.get(tenant);
    if (holder?.epoch !== epoch) return;
    this.#holders.delete(tenant);
    holder.workerEnded();
  }

  /** Makes a host the owner, which opens the tenant when it is needed. */
  async move(id: string, host: string): Promise<'moved' | 'unknown_host' | 'failed'> {
    const to = this.members.serving().find(member => member.host === host && member.record.state === 'live');
    if (to === undefined) return 'unknown_host';
    const isMoved = await this.tenants.move(id, {host, incarnation: to.record.incarnation}, this.#end.signal);
    return isMoved ? 'moved' : 'failed';
  }

  /** All workers of this host have ended. */
  async close(): Promise<void> {
    const wasMember = this.#isMember;
    this.#end.abort();
    this.#isMember = false;
    if (wasMember) await this.lease.leave(AbortSignal.timeout(RENEW_MS));
    await Promise.all([this.#standing, this.spools.close()]);
    await this.#fileThreads.close();
    await this.#engine.close();
    await this.#pages.close();
  }

  /** Hosts that can own tenants. */
  hosts(): PlacedHost[] {
    return placedHosts(this.members.serving());
  }

  #there(id: string, host: string): TenantLocation {
    const member = this.members.serving().find(({host: name}) => name === host);
    if (member === undefined) return nowhere(id, {kind: 'apart'});
    const {incarnation, peer} = member.record;
    const epoch = this.tenants.entries().get(id)?.epoch ?? 0;
    return {kind: 'there', host, address: peer, worker: `${host}.${incarnation}.${epoch}`};
  }

  #changed(id: string, entry: TenantRecord, before: TenantRecord | null): void {
    const {generation, createdMs, epoch, isDeleted} = entry;
    if (before !== null && (isDeleted || before.generation !== generation)) {
      this.knownTenants.remove({id, generation: before.generation});
      this.#shares.forget({id, generation: before.generation});
    }
    this.spools.changed(id, entry);
    if (isDeleted) this.#send({type: 'tenant_gone', tenant: id, generation});
    else if (before?.generation !== generation || before.paused !== entry.paused) {
      const paused = entry.paused ?? null;
      this.#send({type: 'tenant_is', tenant: {tenant: id, generation, createdMs, paused, epoch}});
    }
    if (!isDeleted && before?.generation === generation && !isSameOwner(before.owner, entry.owner)) {
      this.#send({type: 'owner_changed', tenant: id, host: entry.owner?.host ?? null});
    }
  }

  /** Opens tenants that have work, or were open when their host was lost. */
  async #wakeDue(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(MONOTONIC_CLOCK, DUE_POLL_MS);
      if (!this.#isMember) continue;
      if (await this.drain.isRequested()) await this.drain.handOverOwned();
      if (this.drain.hasBegun) continue;
      await this.#moveMisplaced();
      const serving = this.members.serving();
      const holds = (id: string) => this.tenants.holds(id);
      const due = dueTenants(this.tenants.entries(), {self: this.self, serving, nowMs: Date.now(), holds});
      for (const tenant of due) this.#send({type: 'tenant_due', tenant});
    }
  }

  /**
   * A host is expired by its name and incarnation. An incarnation that its entry has not had would end one that lives, so
   * it counts only when the lease of the present one has ended, and is one that follows it soon.
   */
  #checkOwner(openedBy: string | null): void {
    const owner = openedBy === null ? null : ownerOfNote(openedBy);
    if (owner === null) return;
    const known = this.members.all().find(({host}) => host === owner.host);
    const ahead = owner.incarnation - (known?.record.incarnation ?? 0);
    const isHeard = known !== undefined && known.silentMs < LEASE_WAIT * this.settings.leaseMs;
    if (ahead > INCARNATIONS_AHEAD_MAX || (ahead > 0 && isHeard)) {
      throw new EngineError(`the entry of the host ${owner.host} is not the one that the log names`);
    }
  }

  async #moveMisplaced(): Promise<void> {
    const isServing = (id: string) => this.tenants.holds(id);
    const {nowMs} = MONOTONIC_CLOCK;
    await this.#moveAll(this.#rebalance.next(this.tenants.entries(), {self: this.self, nowMs, isServing}));
  }

  /** What cannot be moved now is among the next moves. */
  async #moveAll(moves: readonly Move[]): Promise<void> {
    for (const {id, host} of moves) {
      try {
        await this.move(id, host);
      } catch (error) {
        if (!(error instanceof EngineError || error instanceof LogError)) throw error;
        this.#log.warn('a tenant could not be moved', {tenant: id, host, error});
      }
    }
  }

  #notice(tenant: TenantName): LeaseNotice {
    return {is: 'lease', untilMs: this.lease.untilMs, freeBytes: this.#shares.of(tenant).freeBytes};
  }

  #tell(holder: WorkerHolder | undefined): void {
    holder?.tell(this.#notice(holder.tenant));
  }

  #tellLease(): void {
    for (const holder of this.#holders.values()) this.#tell(holder);
    this.#sendState();
  }

  #sendState(): void {
    const leaseUntilMs = this.#isMember ? Math.max(0, this.lease.untilMs) : 0;
    const keysUntilMs = this.keys.currentUntil(leaseUntilMs);
    this.#send({type: 'host_state', leaseUntilMs, keysUntilMs, isDraining: this.drain.hasBegun});
  }
}
