/**
 * The current steps of a tenant's deploys, for clients that wait for one: a deploy can install Node or fill an index.
 */
import type {DeployProgress, DeployStep} from '../../../shared/protocol/functions.ts';

/** Reports the current step of one deploy. */
export type TellStep = (step: DeployStep, detail?: string) => void;

export class DeploysUnderWay {
  readonly #clock: () => number;
  /** In order of arrival. */
  readonly #all = new Set<DeployProgress>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get all(): DeployProgress[] {
    return [...this.#all];
  }

  /** Lists the deploy until `deploy` is over. @param requestId identifies the deploy to its caller */
  async during<T>(requestId: string, deploy: (tell: TellStep) => Promise<T>): Promise<T> {
    const progress: DeployProgress = {request_id: requestId, step: 'waiting', detail: null, since: this.#nowMs};
    const tell: TellStep = (step, detail) => {
      Object.assign(progress, {step, detail: detail ?? null, since: this.#nowMs});
    };
    this.#all.add(progress);
    try {
      return await deploy(tell);
    } finally {
      this.#all.delete(progress);
    }
  }

  get #nowMs(): number {
    return Math.floor(this.#clock());
  }
}
