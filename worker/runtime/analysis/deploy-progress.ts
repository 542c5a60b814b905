/** What the deploys of a tenant are doing, for whoever waits for one: they take as long as installing Node or filling an index does. */
import type {DeployProgress, DeployStep} from '../../../shared/protocol/functions.ts';

/** One deploy: says what it does now. */
export type TellStep = (step: DeployStep, detail?: string) => void;

export class DeploysUnderWay {
  readonly #clock: () => number;
  /** In the order in which they came. */
  readonly #all = new Set<DeployProgress>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get all(): DeployProgress[] {
    return [...this.#all];
  }

  /** Until `deploy` is over. @param requestId by which its caller knows it */
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
