/**
 * The way to service control, whose code and records are loaded with the first need: most tenants have no sandbox and no
 * session. What was left `running` by a process that died is said to have failed then, before anybody is answered.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {Control, ControlParts} from './control.ts';

export class ControlGate {
  readonly #parts: Omit<ControlParts, 'changed'>;
  readonly #onUse: (untilMs: number | null) => void;
  #loading: Promise<Control> | null = null;
  #control: Control | null = null;
  #isClosed = false;

  constructor(parts: Omit<ControlParts, 'changed'>, onUse: (untilMs: number | null) => void) {
    this.#parts = parts;
    this.#onUse = onUse;
  }

  /** @throws session.worker_unavailable 503 while the tenant is being closed */
  loaded(): Promise<Control> {
    if (this.#isClosed) {
      throw new ServiceError('session.worker_unavailable', 'the tenant is being closed; try again');
    }
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Sandboxes that run, and sessions that are open. */
  get sizes(): {sandboxes: number; sessions: number} {
    const {sandboxes, sessions} = this.#control ?? {};
    return {sandboxes: sandboxes?.running ?? 0, sessions: sessions?.open ?? 0};
  }

  /** Nothing is loaded afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#loading)?.close();
  }

  async #load(): Promise<Control> {
    const {Control} = await import('./control.ts');
    this.#control = new Control(this.#parts, this.#onUse);
    return this.#control;
  }
}
