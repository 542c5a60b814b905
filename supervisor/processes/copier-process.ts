/**
 * The copier, one per server with --backup-to: the only process that has the credentials of the repository's store. A new
 * process gets the list of all tenants, and learns from the repository what is copied.
 */
import {Answers} from '../../shared/answers.ts';
import type {
  CopiedTenant,
  CopierRequest,
  CopierSettings,
  CopierToSupervisor,
  SupervisorToCopier,
} from '../../shared/ipc/copier.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {COPIER_ANSWER_MS, COPIER_LAST_LINE_MS} from '../limits.ts';
import {type ChildAnswer, resultIn} from './child-answer.ts';
import {type OwnOf, RestartedChild, type RestartedOptions} from './restarted-child.ts';

export type CopierOpened = Extract<CopierToSupervisor, {type: 'started' | 'refused'}>;

export type CopierProcessOptions = Omit<
  RestartedOptions<OwnOf<CopierToSupervisor>>,
  'kind' | 'onMessage' | 'onStart' | 'onEnd'
> & {
  settings: CopierSettings;
  /** All that exist. */
  tenants: () => CopiedTenant[];
  /** When the repository last had everything. Null: never. */
  lastSuccessMs: () => number | null;
  onOpened: (opened: CopierOpened) => void;
  /** This tenant sleeps, and needs a base. */
  onBaseDue: (tenant: string) => void;
  /** The file of this tenant is older than the repository. */
  onTimelineDue: (tenant: string) => void;
  /** It ended unexpectedly and will be restarted. */
  onEnd: () => void;
};

type Untimed<One> = One extends {withinMs: number} ? Omit<One, 'withinMs'> : never;
type Unlimited = Untimed<CopierRequest>;

export class CopierProcess {
  readonly #options: CopierProcessOptions;
  readonly #answers = new Answers<ChildAnswer>();
  readonly #child: RestartedChild<SupervisorToCopier, OwnOf<CopierToSupervisor>>;

  #onClosed: (() => void) | null = null;

  constructor(options: CopierProcessOptions) {
    this.#options = options;
    this.#child = new RestartedChild<SupervisorToCopier, OwnOf<CopierToSupervisor>>({
      ...options,
      kind: 'copier',
      onStart: () => {
        const [tenants, lastSuccessMs] = [options.tenants(), options.lastSuccessMs()];
        this.#child.send({type: 'start', settings: options.settings, tenants, lastSuccessMs});
      },
      onMessage: message => this.#received(message),
      onEnd: isUnexpected => {
        this.#answers.end();
        if (isUnexpected) options.onEnd();
        this.#onClosed?.();
      },
    });
  }

  start(): void {
    this.#child.start();
  }

  /** The tenant was created, woke, or fell asleep. */
  tenantIs(tenant: CopiedTenant): void {
    this.#child.send({type: 'tenant', tenant});
  }

  /** The base of this sleeping tenant could not be made, or its new timeline not begun. */
  baseFailed(tenant: string, message: string): void {
    this.#child.send({type: 'base_failed', tenant, message});
  }

  /** These files of the server were copied again. */
  stateCopied(names: readonly string[]): void {
    this.#child.send({type: 'state', names: [...names]});
  }

  deleted(tenant: string): void {
    this.#child.send({type: 'deleted', tenant});
  }

  /** A request that the copier gives up after this time. @throws ServiceError */
  requestWithin(withinMs: number, request: Unlimited): Promise<unknown> {
    return this.request({...request, withinMs}, withinMs);
  }

  /** @param withinMs the time that the request itself can take. @throws ServiceError */
  async request(request: CopierRequest, withinMs = 0): Promise<unknown> {
    const answer = await this.#answers.ask(withinMs + COPIER_ANSWER_MS, id => {
      if (!this.#child.send({type: 'request', id, request})) this.#answers.settle(id, null);
    });
    return resultIn(answer, 'the copier does not answer; the log of the server says why');
  }

  /** Its metrics; null: it is not running, or does not answer in time. */
  report(): Promise<MetricJson[] | null> {
    return this.#child.report();
  }

  /** Null: it is not running. */
  get pid(): number | null {
    return this.#child.pid;
  }

  /** The workers have closed their files. Resolves when it has ended. @param withinMs then it is killed */
  close(withinMs: number): Promise<void> {
    return new Promise(resolve => {
      this.#onClosed = resolve;
      if (!this.#child.send({type: 'close', withinMs: withinMs - COPIER_LAST_LINE_MS})) resolve();
      this.#child.close(withinMs);
    });
  }

  #received(message: OwnOf<CopierToSupervisor>): void {
    switch (message.type) {
      case 'started':
      case 'refused':
        this.#child.serves();
        this.#options.onOpened(message);
        return;
      case 'base_due':
        this.#options.onBaseDue(message.tenant);
        return;
      case 'timeline_due':
        this.#options.onTimelineDue(message.tenant);
        return;
      case 'answer':
        this.#answers.settle(message.id, message);
        return;
    }
  }
}
