/**
 * What a worker says of its way out to the supervisor, who starts the egress process and holds the policy: that it is going to
 * need it, and, with an operator's voucher, that the policy is another.
 */
import {ServiceError} from '../../../shared/errors.ts';
import type {SupervisorToWorker, WorkerToSupervisor} from '../../../shared/ipc/control.ts';
import type {EgressDoor, EgressSettings} from '../../../shared/ipc/egress.ts';

export type DoorKey = Omit<EgressDoor, 'policy'>;
type Taken = Extract<SupervisorToWorker, {type: 'egress_taken'}>;

export class WorkerEgress {
  readonly #key: DoorKey;
  readonly #send: (message: WorkerToSupervisor) => void;
  readonly #waiting = new Map<number, (error: Taken['error']) => void>();
  #isWanted = false;
  #lastId = 0;

  constructor(key: DoorKey, send: (message: WorkerToSupervisor) => void) {
    this.#key = key;
    this.#send = send;
  }

  /** For code that is about to run. @param policy as this worker knows it: with another one, connections are made anew */
  door(policy: EgressSettings): EgressDoor {
    if (!this.#isWanted) this.#send({type: 'egress_wanted'});
    this.#isWanted = true;
    return {...this.#key, policy};
  }

  /** Resolves when the policy in this body holds. @throws auth.unauthorized 401, session.storage_full 507 */
  async put(body: string, voucher: string): Promise<void> {
    const id = ++this.#lastId;
    const error = await new Promise<Taken['error']>(resolve => {
      this.#waiting.set(id, resolve);
      this.#send({type: 'egress_put', id, body, voucher});
    });
    if (error !== null) throw new ServiceError(error.code, error.message, error.detail);
  }

  taken({id, error}: Taken): void {
    this.#waiting.get(id)?.(error);
    this.#waiting.delete(id);
  }
}
