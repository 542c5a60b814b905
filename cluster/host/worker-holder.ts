/**
 * A worker of this host as the holder of a tenant. The supervisor starts and ends the worker; the worker brings the file to
 * the log through its endpoint, and appends to the log until it ends.
 *
 *   new ──open──▶ granted ──the supervisor names a worker──▶ opening ──opened──▶ serving ──close──▶ handing over ──┐
 *                    │                                         │ superseded, full                                  │
 *                    └──────────── end, or the worker ended ───┴───────────────────────────────────────────────────┴──▶ ended
 */
import type {LogGrant} from '../../shared/ipc/cluster.ts';
import type {EndpointKey} from '../../shared/ipc/egress.ts';
import type {LeaseNotice} from '../endpoint/endpoint-message.ts';
import {LogEndpoint, type LogEndpointParts} from '../endpoint/log-endpoint.ts';
import type {LogEngine} from '../log/log-engine.ts';
import type {LogPosition} from '../log/record.ts';
import {type Subjects, shardOf, type TenantName} from '../log/subjects.ts';
import type {OpenOutcome} from '../log/tenant-log.ts';
import type {MemberFile} from '../owner/lost-tail.ts';
import type {Grant, Holder} from '../ownership/host-tenants.ts';
import type {HostPackages} from './host-packages.ts';
import type {LostTails} from './lost-tails.ts';

export type WorkerHolderParts = {
  readonly tenant: TenantName;
  readonly engine: LogEngine;
  readonly subjects: Subjects;
  readonly localLagMs: number | null;
  /** A worker says who opened its log. @throws EngineError: it can be no one */
  readonly checkOwner: (openedBy: string | null) => void;
  /** The lease of this host, for a worker that is new. */
  readonly lease: () => LeaseNotice;
  readonly supervisor: {
    /** Start a worker, and answer with its endpoint or its end. */
    granted: (grant: LogGrant) => void;
    handOver: (tenant: string, epoch: number) => void;
    fence: (tenant: string, epoch: number) => void;
  };
  /** The file is free for a worker when it resolves, until `released`. */
  readonly holdFile: (tenant: string) => Promise<void>;
  readonly releaseFile: (tenant: string) => void;
  /** Files of other hosts can have what the log has lost. */
  readonly lostTails: Pick<LostTails, 'ask' | 'foundBehind' | 'beforeGrant' | 'beforeOpen'>;
  /** What the tenant has in the log. */
  readonly share: LogEndpointParts['share'];
  readonly packages: Pick<HostPackages, 'of'>;
  readonly onAnswered: LogEndpointParts['onAnswered'];
  /** The worker ended by itself while it served. */
  readonly onLost: (tenant: string, epoch: number) => void;
  readonly report: (sentence: string) => void;
};

export class WorkerHolder implements Holder {
  readonly #parts: WorkerHolderParts;
  #grant: Grant | null = null;
  #endpoint: LogEndpoint | null = null;
  #decided: ((outcome: OpenOutcome) => void) | null = null;
  /** The supervisor knows of it. */
  #isGranted = false;
  #isServing = false;
  #isEnding = false;
  #hasEnded = false;
  /** Files of other hosts, as they have answered when the opening began. */
  #otherFiles: Promise<readonly MemberFile[]> = Promise.resolve([]);
  readonly #whenEnded: Promise<void>;
  #resolveEnded: () => void = () => undefined;

  constructor(parts: WorkerHolderParts) {
    this.#parts = parts;
    this.#whenEnded = new Promise(resolve => {
      this.#resolveEnded = resolve;
    });
  }

  get tenant(): TenantName {
    return this.#parts.tenant;
  }

  get shard(): number {
    return shardOf(this.#parts.tenant.id);
  }

  get epoch(): number | null {
    return this.#grant?.epoch ?? null;
  }

  get tail(): LogPosition | null {
    return this.#endpoint?.tail ?? null;
  }

  /** The worker tries by itself again while the log does not answer, so this is decided when it resolves. */
  async open(grant: Grant): Promise<OpenOutcome> {
    this.#grant = grant;
    const {tenant, supervisor, subjects, localLagMs, holdFile, lostTails} = this.#parts;
    this.#otherFiles = lostTails.ask(tenant);
    await holdFile(tenant.id);
    await lostTails.beforeGrant(tenant, this.#otherFiles);
    if (this.#isEnding) return {kind: 'abandoned'};
    const outcome = await new Promise<OpenOutcome>(resolve => {
      this.#decided = resolve;
      this.#isGranted = true;
      const {epoch, note, isReadOnly} = grant;
      const {id, generation} = tenant;
      supervisor.granted({tenant: id, generation, cluster: subjects.cluster, epoch, note, isReadOnly, localLagMs});
    });
    this.#decided = null;
    this.#isServing = outcome.kind === 'opened' && !this.#hasEnded;
    return this.#hasEnded ? {kind: 'abandoned'} : outcome;
  }

  async close(): Promise<boolean> {
    this.#isEnding = true;
    this.#parts.supervisor.handOver(this.#parts.tenant.id, this.#grant!.epoch);
    await this.#whenEnded;
    this.#parts.releaseFile(this.#parts.tenant.id);
    return this.tail?.kind === 'close';
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    if (!this.#hasEnded && this.#isGranted && this.#grant !== null) {
      this.#parts.supervisor.fence(this.#parts.tenant.id, this.#grant.epoch);
      await this.#whenEnded;
    }
    await this.#endpoint?.end();
    this.#parts.releaseFile(this.#parts.tenant.id);
  }

  /** The supervisor has a worker for the grant. */
  worker({socketPath, secret}: EndpointKey): void {
    const {tenant, engine, subjects, lease, checkOwner, share, onAnswered, lostTails, packages} = this.#parts;
    const {epoch, note, ownerEnds: ends} = this.#grant!;
    const ownerEnds: Grant['ownerEnds'] = owner => {
      checkOwner(owner.openedBy);
      return ends(owner);
    };
    this.#endpoint = new LogEndpoint({
      ...{socketPath, secret, tenant, epoch, note, engine, subjects, ownerEnds, share, onAnswered},
      packages: packages.of(tenant, epoch),
      beforeOpen: tail => lostTails.beforeOpen(tenant, this.#otherFiles, tail),
      onBehind: () => lostTails.foundBehind(tenant),
      onOpened: outcome => this.#decided?.(outcome),
      onClosed: why => this.#endpointClosed(why),
    });
    this.#endpoint.tell(lease());
  }

  /** The worker's process has ended, or there is none for the grant. */
  workerEnded(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    void this.#endpoint?.end().then(() => this.#resolveEnded());
    if (this.#endpoint === null) this.#resolveEnded();
    this.#decided?.({kind: 'abandoned'});
    if (this.#isServing && !this.#isEnding) this.#parts.onLost(this.#parts.tenant.id, this.#grant!.epoch);
  }

  tell(notice: LeaseNotice): void {
    this.#endpoint?.tell(notice);
  }

  /** A worker without its connection cannot append: if it has not ended, it broke a rule. */
  #endpointClosed(why: string): void {
    const {tenant, supervisor, report} = this.#parts;
    // After its `close` it has nothing more to say, and reports when the tenant has work again before it ends.
    const hasClosed = this.tail?.kind === 'close' && this.tail.epoch === this.#grant!.epoch;
    if (this.#hasEnded || hasClosed) return;
    report(`the worker of tenant ${tenant.id} is ended if it lives: ${why}`);
    supervisor.fence(tenant.id, this.#grant!.epoch);
  }
}
