/**
 * A worker's messages to the supervisor about egress. The supervisor starts the egress process and holds the policy.
 * The worker reports that it will need egress, and, with an operator's signed grant, that the policy has changed.
 */
import {Answers} from '../../../shared/answers.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {SupervisorToWorker, WorkerToSupervisor} from '../../../shared/ipc/control.ts';
import type {EgressEndpoint, EgressSettings} from '../../../shared/ipc/egress.ts';

export type EndpointKey = Omit<EgressEndpoint, 'policy'>;
type Taken = Extract<SupervisorToWorker, {type: 'egress_taken'}>;

export class WorkerEgress {
  readonly #key: EndpointKey;
  readonly #send: (message: WorkerToSupervisor) => void;
  readonly #answers = new Answers<Taken>();
  #isWanted = false;
  #endpoint: EgressEndpoint | null = null;

  constructor(key: EndpointKey, send: (message: WorkerToSupervisor) => void) {
    this.#key = key;
    this.#send = send;
  }

  /**
   * The egress door for code that is about to run. @param policy as this worker knows it: a different one causes new
   * connections
   * @returns the same object while the policy is unchanged, because processes are kept for the holder of it
   * (node/node-member.ts)
   */
  endpoint(policy: EgressSettings): EgressEndpoint {
    if (!this.#isWanted) this.#send({type: 'egress_wanted'});
    this.#isWanted = true;
    if (this.#endpoint === null || !isSame(this.#endpoint.policy, policy)) this.#endpoint = {...this.#key, policy};
    return this.#endpoint;
  }

  /** Resolves when the policy in this body is in force. @throws auth.unauthorized 401, session.storage_full 507 */
  async put(body: string, signedGrant: string): Promise<void> {
    const taken = await this.#answers.ask(null, id => this.#send({type: 'egress_put', id, body, signedGrant}));
    const error = taken?.error ?? null;
    if (error !== null) throw new ServiceError(error.code, error.message, error.detail);
  }

  taken(taken: Taken): void {
    this.#answers.settle(taken.id, taken);
  }
}

function isSame(one: EgressSettings, other: EgressSettings): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
