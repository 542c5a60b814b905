/**
 * What a worker says of its way out to the supervisor, who starts the egress process and holds the policy: that it is going to
 * need it, and, with an operator's voucher, that the policy is another.
 */
import {Answers} from '../../../shared/answers.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {SupervisorToWorker, WorkerToSupervisor} from '../../../shared/ipc/control.ts';
import type {EgressDoor, EgressSettings} from '../../../shared/ipc/egress.ts';

export type DoorKey = Omit<EgressDoor, 'policy'>;
type Taken = Extract<SupervisorToWorker, {type: 'egress_taken'}>;

export class WorkerEgress {
  readonly #key: DoorKey;
  readonly #send: (message: WorkerToSupervisor) => void;
  readonly #answers = new Answers<Taken>();
  #isWanted = false;
  #door: EgressDoor | null = null;

  constructor(key: DoorKey, send: (message: WorkerToSupervisor) => void) {
    this.#key = key;
    this.#send = send;
  }

  /**
   * For code that is about to run. @param policy as this worker knows it: with another one, connections are made anew.
   * @returns the same one as long as the policy says the same: processes are kept for who has it (node/node-member.ts)
   */
  door(policy: EgressSettings): EgressDoor {
    if (!this.#isWanted) this.#send({type: 'egress_wanted'});
    this.#isWanted = true;
    if (this.#door === null || !isSame(this.#door.policy, policy)) this.#door = {...this.#key, policy};
    return this.#door;
  }

  /** Resolves when the policy in this body holds. @throws auth.unauthorized 401, session.storage_full 507 */
  async put(body: string, voucher: string): Promise<void> {
    const taken = await this.#answers.ask(null, id => this.#send({type: 'egress_put', id, body, voucher}));
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
