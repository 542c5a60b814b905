/**
 * Which routers use a worker, and what they had under way when it ended. Each router has a link of its own, so only all of them
 * together know whether a worker is idle, and which calls its death may be held against.
 */
import type {UserCall} from '../../shared/ipc/control.ts';

export class WorkerUsers {
  /** Asked for the worker and not told where it is. */
  readonly asking = new Set<number>();
  /** Told where it is; they have not given it up, nor lost it. */
  readonly told = new Set<number>();
  /** Lost it: the calls that each had under way. Its end is not known here yet. */
  #lost = new Map<number, UserCall[]>();
  /** A release under way: who has not answered, and whether anybody needs the worker. */
  #release: {waiting: Set<number>; isBusy: boolean} | null = null;

  /** Who has not given up a worker that the tenant moves from; null: it does not move. */
  #moving: Set<number> | null = null;

  /** Everybody who asked is told now. */
  tell(): number[] {
    const routers = [...this.asking];
    this.asking.clear();
    for (const router of routers) this.told.add(router);
    if (routers.length > 0 && this.#release !== null) this.#release.isBusy = true;
    return routers;
  }

  /** Nobody waits for an answer any more. @returns who did */
  refuse(): number[] {
    const routers = [...this.asking];
    this.asking.clear();
    return routers;
  }

  /** @returns who has to be asked; nobody: it is released */
  beginRelease(): number[] {
    this.#release = {waiting: new Set(this.told), isBusy: false};
    if (this.told.size === 0) this.#release = null;
    return [...this.told];
  }

  /** @returns whether it is busy, once all have answered; null before that, and when nobody asked any more */
  released(router: number, isBusy: boolean): {isBusy: boolean} | null {
    if (!isBusy) this.told.delete(router);
    const release = this.#release;
    if (release === null) return null;
    release.waiting.delete(router);
    release.isBusy ||= isBusy;
    if (release.waiting.size > 0) return null;
    this.#release = null;
    return {isBusy: release.isBusy};
  }

  /** @returns who has to give it up; nobody: it is given up */
  beginMove(): number[] {
    this.#release = null;
    this.#moving = new Set(this.told);
    return [...this.told];
  }

  /** This router sends the worker nothing more. After the move the answer is late, and is not about the next worker. */
  givenUp(router: number): void {
    if (this.#moving !== null) this.#left(router);
  }

  #left(router: number): void {
    this.told.delete(router);
    this.#moving?.delete(router);
  }

  /** The tenant moves, and nobody uses its worker any more. */
  get isGivenUp(): boolean {
    return this.#moving?.size === 0;
  }

  /** A router that loses it twice has reached a dying worker once more, or did not reach it the first time. */
  lost(router: number, calls: UserCall[]): void {
    this.#left(router);
    if (calls.length > 0 && !this.#lost.has(router)) this.#lost.set(router, calls);
  }

  /** The router's process is gone, and with it what it asked for and what it used. */
  routerEnded(router: number): void {
    this.asking.delete(router);
    this.#left(router);
    this.#release = null;
  }

  /** The worker ended. @returns the calls known of, and who may know of more; the next worker has no users */
  ended(): {calls: UserCall[]; unheard: Set<number>} {
    const calls = [...this.#lost.values()].flat();
    const unheard = new Set(this.told);
    this.#lost = new Map();
    this.told.clear();
    this.#release = null;
    this.#moving = null;
    return {calls, unheard};
  }
}
