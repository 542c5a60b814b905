/** The doors of all workers that serve a tenant, by the paths of their sockets. What is asked of a door is done in order. */
import {chmod, mkdir, rm} from 'node:fs/promises';
import {EgressMetrics} from '../shared/egress/metrics.ts';
import type {EgressGrant} from '../shared/ipc/egress.ts';
import type {MetricJson} from '../shared/metric-json.ts';
import {Door, type DoorParts} from './door.ts';
import type {Resolve} from './policy.ts';

export class Doors {
  readonly #parts: DoorParts;
  readonly #doors = new Map<string, Promise<Door>>();

  private constructor(parts: DoorParts) {
    this.#parts = parts;
  }

  /** @param directory for data connections; what an earlier process left there is removed */
  static async in(directory: string, resolve?: Resolve): Promise<Doors> {
    await rm(directory, {recursive: true, force: true});
    // Whoever may enter has to know a name in it.
    await mkdir(directory);
    await chmod(directory, 0o711);
    return new Doors({directory, metrics: new EgressMetrics(), ...(resolve === undefined ? {} : {resolve})});
  }

  /** Resolves when the worker finds its door, and its policy is this one. */
  async grant(grant: EgressGrant): Promise<void> {
    const known = this.#doors.get(grant.socketPath);
    if (known !== undefined) {
      (await known).use(grant);
      return;
    }
    const opening = rm(grant.socketPath, {force: true}).then(() => Door.open(grant, this.#parts));
    this.#doors.set(grant.socketPath, opening);
    await opening;
  }

  async revoke(socketPath: string): Promise<void> {
    const door = this.#doors.get(socketPath);
    this.#doors.delete(socketPath);
    (await door)?.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#doors.keys()].map(path => this.revoke(path)));
  }

  report(): MetricJson[] {
    return this.#parts.metrics.report(this.#doors.size);
  }
}
