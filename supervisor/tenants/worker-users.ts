/**
 * Tracks which routers use a worker, and the calls that they had under way when it ended. Each router has its own link,
 * so only the routers together know whether a worker is idle, and which calls may have crashed it.
 */
import type {UserCall} from '../../shared/ipc/control.ts';

export class WorkerUsers {
  /** Routers that requested the worker and do not know its address yet. */
  readonly waitingRouters = new Set<number>();
  /** Routers that know its address and have neither given it up nor lost it. */
  readonly notified = new Set<number>();
  /** Routers that lost it, with the calls that each had under way, before its end is known here. */
  #lost = new Map<number, UserCall[]>();
  /** A release under way: the routers that have not answered, and whether any needs the worker. */
  #release: {waiting: Set<number>; isBusy: boolean} | null = null;

  /** Routers that have not given up a worker that the tenant moves away from; null: no move is under way. */
  #moving: Set<number> | null = null;

  /** Marks all waiting routers as notified. @returns them */
  notify(): number[] {
    const routers = [...this.waitingRouters];
    this.waitingRouters.clear();
    for (const router of routers) this.notified.add(router);
    if (routers.length > 0 && this.#release !== null) this.#release.isBusy = true;
    return routers;
  }

  /** Removes all waiting routers. @returns them */
  refuse(): number[] {
    const routers = [...this.waitingRouters];
    this.waitingRouters.clear();
    return routers;
  }

  /** @returns the routers to request the release from; none: the worker is released */
  beginRelease(): number[] {
    this.#release = {waiting: new Set(this.notified), isBusy: false};
    if (this.notified.size === 0) this.#release = null;
    return [...this.notified];
  }

  /** Routers have not answered yet. */
  get isReleasing(): boolean {
    return this.#release !== null;
  }

  /** @returns whether the worker is busy, once all have answered; null before that, and if no release is under way */
  released(router: number, isBusy: boolean): {isBusy: boolean} | null {
    if (!isBusy) this.notified.delete(router);
    const release = this.#release;
    if (release === null) return null;
    release.waiting.delete(router);
    release.isBusy ||= isBusy;
    if (release.waiting.size > 0) return null;
    this.#release = null;
    return {isBusy: release.isBusy};
  }

  /** @returns the routers that must give it up; none: it is given up */
  beginMove(): number[] {
    this.#release = null;
    this.#moving = new Set(this.notified);
    return [...this.notified];
  }

  /**
   * This router sends the worker nothing more. After the move the answer is late, and does not concern the next worker.
   */
  givenUp(router: number): void {
    if (this.#moving !== null) this.#left(router);
  }

  #left(router: number): void {
    this.notified.delete(router);
    this.#moving?.delete(router);
  }

  /** The tenant moves, and no router uses its worker any more. */
  get isGivenUp(): boolean {
    return this.#moving?.size === 0;
  }

  /** A router that loses it twice reached a dying worker once more, or did not reach it the first time. */
  lost(router: number, calls: UserCall[]): void {
    this.#left(router);
    if (calls.length > 0 && !this.#lost.has(router)) this.#lost.set(router, calls);
  }

  /** The router's process has ended, and with it its requests and links. */
  routerEnded(router: number): void {
    this.waitingRouters.delete(router);
    this.#left(router);
    this.#release = null;
  }

  /** The worker ended. @returns the known calls, and the routers that may know of more; the next worker has no users */
  ended(): {calls: UserCall[]; unheard: Set<number>} {
    const calls = [...this.#lost.values()].flat();
    const unheard = new Set(this.notified);
    this.#lost = new Map();
    this.notified.clear();
    this.#release = null;
    this.#moving = null;
    return {calls, unheard};
  }
}
