/**
 * The egress process, one per server: started with the first worker that needs it, monitored, and restarted with
 * growing pauses. A new process gets the grants of all workers, so requests only wait for it.
 */
import {Answers} from '../../shared/answers.ts';
import type {EgressGrant, EgressToSupervisor, SupervisorToEgress} from '../../shared/ipc/egress.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {type OwnOf, RestartedChild, type RestartedOptions} from './restarted-child.ts';

export type EgressProcessOptions = Omit<
  RestartedOptions<OwnOf<EgressToSupervisor>>,
  'kind' | 'onMessage' | 'onStart' | 'onEnd'
> & {
  /** It ended unexpectedly and will be restarted. */
  onEnd: () => void;
};

export class EgressProcess {
  /** By socket path. */
  readonly #grants = new Map<string, EgressGrant>();
  readonly #granted = new Answers<true>();
  readonly #child: RestartedChild<SupervisorToEgress, OwnOf<EgressToSupervisor>>;

  constructor(options: EgressProcessOptions) {
    this.#child = new RestartedChild<SupervisorToEgress, OwnOf<EgressToSupervisor>>({
      ...options,
      kind: 'egress',
      onStart: () => this.#child.send({type: 'start', grants: [...this.#grants.values()]}),
      onMessage: message => this.#received(message),
      onEnd: isUnexpected => {
        this.#granted.end();
        if (isUnexpected) options.onEnd();
      },
    });
  }

  /** Starts the process, because connections will be requested soon. */
  want(): void {
    this.#child.start();
  }

  /** Resolves when the process has this policy, or will get it when it starts. */
  async grant(grant: EgressGrant): Promise<void> {
    this.#grants.set(grant.socketPath, grant);
    await this.#granted.ask(null, id => {
      if (!this.#child.send({type: 'grant', id, grant})) this.#granted.settle(id, null);
    });
  }

  revoke(socketPath: string): void {
    this.#grants.delete(socketPath);
    this.#child.send({type: 'revoke', socketPath});
  }

  /** Its metrics; null: it is not running, or does not answer in time. */
  report(): Promise<MetricJson[] | null> {
    return this.#child.report();
  }

  /** Null: it is not running. */
  get pid(): number | null {
    return this.#child.pid;
  }

  /** It is no longer needed. */
  close(): void {
    this.#child.close();
  }

  #received(message: OwnOf<EgressToSupervisor>): void {
    switch (message.type) {
      case 'started':
        this.#child.serves();
        return;
      case 'granted':
        this.#granted.settle(message.id, true);
        return;
    }
  }
}
