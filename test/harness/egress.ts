/** The doors of an egress process, within the test: with the policies it names, and names that lead where it says. */
import {randomBytes} from 'node:crypto';
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Doors} from '../../egress/doors.ts';
import type {Resolve} from '../../egress/policy.ts';
import type {EgressDoor, EgressSettings} from '../../shared/ipc/egress.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Egress} from '../../worker/runtime/egress/connector.ts';

export class TestEgress {
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-egress-'));
  readonly #doors: Doors;
  readonly #used: Egress[] = [];
  #lastDoor = 0;

  constructor(resolve?: Resolve) {
    this.#doors = new Doors({...(resolve && {resolve})});
  }

  /** A door that is there, or about to be. @param below a directory that there may not be */
  door(policy: EgressSettings, below = ''): EgressDoor {
    const directory = join(this.directory, below, `x${++this.#lastDoor}`);
    if (below === '') mkdirSync(directory, {recursive: true});
    const socketPath = join(directory, 's');
    const door = {socketPath, secret: randomBytes(8).toString('hex'), policy};
    void this.use(door);
    return door;
  }

  /** The policy of a door is this one now. */
  async use(door: EgressDoor): Promise<void> {
    await this.#doors.grant({...door, tenant: `of ${door.socketPath}`});
  }

  /** A way out under this policy. */
  under(policy: EgressSettings): Egress {
    const egress = new Egress(this.door(policy));
    this.#used.push(egress);
    return egress;
  }

  async revoke(door: EgressDoor): Promise<void> {
    await this.#doors.revoke(door.socketPath);
  }

  report(): MetricJson[] {
    return this.#doors.report();
  }

  async close(): Promise<void> {
    await Promise.all(this.#used.map(egress => egress.close()));
    await this.#doors.close();
    rmSync(this.directory, {recursive: true});
  }
}
