/**
 * The cluster process, one per host with --cluster: the only one with the credentials of the cluster's log. If it ends, no
 * worker of this host can append, so all of them end before the next one joins the cluster.
 */
import {Answers} from '../../shared/answers.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {
  ClusterProcessRequest,
  ClusterProcessSettings,
  ClusterTenant,
  ClusterToSupervisor,
  LogGrant,
  SupervisorToCluster,
  TenantLocation,
} from '../../shared/ipc/cluster.ts';
import type {EndpointKey} from '../../shared/ipc/egress.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {CLUSTER_ANSWER_MS} from '../limits.ts';
import {type ChildAnswer, resultIn} from './child-answer.ts';
import {type OwnOf, RestartedChild, type RestartedOptions} from './restarted-child.ts';

export type ClusterNotice = Exclude<OwnOf<ClusterToSupervisor>, {type: 'located' | 'answer' | 'joined' | 'refused'}>;

/** Those of which a second one would be refused if the first one was carried out. */
const CHANGES: ReadonlySet<ClusterProcessRequest['does']> = new Set([
  'create',
  'enter',
  'delete',
  'key_put',
  'key_remove',
]);

/** Null: it does not answer. */
export type Membership = Extract<ClusterToSupervisor, {type: 'joined' | 'refused'}>;

export type ClusterProcessOptions = Omit<
  RestartedOptions<OwnOf<ClusterToSupervisor>>,
  'kind' | 'onMessage' | 'onStart' | 'onEnd'
> & {
  settings: ClusterProcessSettings;
  /** Of this start of svc, and of the one before, which has ended. */
  start: string;
  previousStart: string | null;
  /** Of this host, when a process is started. */
  isDraining: () => boolean;
  onMembership: (membership: Membership) => void;
  onNotice: (notice: ClusterNotice) => void;
  /** It ended. Resolves when no worker of this host has a grant. */
  onEnd: (isUnexpected: boolean) => Promise<void>;
};

export class ClusterProcess {
  readonly #options: ClusterProcessOptions;
  readonly #child: RestartedChild<SupervisorToCluster, OwnOf<ClusterToSupervisor>>;
  readonly #answers = new Answers<ChildAnswer>();
  readonly #located = new Answers<TenantLocation>();
  #workersEnded: Promise<void> = Promise.resolve();
  #previousStart: string | null;
  #onClosed: (() => void) | null = null;
  #isMember = false;

  constructor(options: ClusterProcessOptions) {
    this.#options = options;
    this.#previousStart = options.previousStart;
    this.#child = new RestartedChild<SupervisorToCluster, OwnOf<ClusterToSupervisor>>({
      ...options,
      kind: 'cluster',
      onStart: () => void this.#begin(),
      onMessage: message => this.#received(message),
      onEnd: isUnexpected => {
        this.#isMember = false;
        this.#workersEnded = options.onEnd(isUnexpected);
        this.#answers.end();
        this.#located.end();
        this.#onClosed?.();
      },
    });
  }

  /** The host is a member of the cluster. */
  get isMember(): boolean {
    return this.#isMember;
  }

  start(): void {
    this.#child.start();
  }

  /** Null: it does not answer now. */
  locate(tenant: string, isForwarded: boolean): Promise<TenantLocation | null> {
    return this.#located.ask(null, id => {
      if (!this.#child.send({type: 'locate', id, tenant, isForwarded})) this.#located.settle(id, null);
    });
  }

  /** The tenant has a directory on this host. @param path of its file. @param epoch of the entry that this host follows */
  known({tenant, generation, createdMs}: ClusterTenant, path: string, epoch: number): void {
    this.#child.send({type: 'tenant_known', tenant, generation, createdMs, path, epoch});
  }

  worker({tenant, epoch}: LogGrant, endpoint: EndpointKey): void {
    this.#child.send({type: 'worker', tenant, epoch, endpoint});
  }

  /** The worker of the grant has ended, or there will be none. */
  workerEnded({tenant, epoch}: LogGrant): void {
    this.#child.send({type: 'worker_ended', tenant, epoch});
  }

  /** Whether it writes spools for the copier of this host. */
  follow(isOn: boolean): void {
    this.#child.send({type: 'copies', isOn});
  }

  /** @throws ServiceError: also if it ends or gives no answer within that time, when a change may have been made */
  async request(request: ClusterProcessRequest, withinMs = CLUSTER_ANSWER_MS): Promise<unknown> {
    let isSent = true;
    const answer = await this.#answers.ask(withinMs, id => {
      isSent = this.#child.send({type: 'request', id, request});
      if (!isSent) this.#answers.settle(id, null);
    });
    if (answer === null && isSent && CHANGES.has(request.does))
      throw new ServiceError('session.outcome_unknown', 'the cluster process gave no answer: this may have been done');
    return resultIn(answer, 'the cluster process does not answer; try again');
  }

  /** Its metrics; null: it is not running, or does not answer in time. */
  report(): Promise<MetricJson[] | null> {
    return this.#child.report();
  }

  /** Null: it is not running. */
  get pid(): number | null {
    return this.#child.pid;
  }

  /** All workers have ended. Resolves when it has left the cluster and ended. @param withinMs then it is killed */
  close(withinMs: number): Promise<void> {
    return new Promise(resolve => {
      this.#onClosed = resolve;
      if (!this.#child.send({type: 'close'})) resolve();
      this.#child.close(withinMs);
    });
  }

  async #begin(): Promise<void> {
    await this.#workersEnded;
    const {settings, start, isDraining} = this.#options;
    const previousStart = this.#previousStart;
    this.#child.send({type: 'start', settings, start, previousStart, isDraining: isDraining()});
    // A process that follows is of the same start.
    this.#previousStart = start;
  }

  #received(message: OwnOf<ClusterToSupervisor>): void {
    switch (message.type) {
      case 'joined':
      case 'refused':
        this.#child.serves();
        this.#isMember = message.type === 'joined';
        this.#options.onMembership(message);
        return;
      case 'located':
        this.#located.settle(message.id, message.location);
        return;
      case 'answer':
        this.#answers.settle(message.id, message);
        return;
      default:
        this.#options.onNotice(message);
    }
  }
}
