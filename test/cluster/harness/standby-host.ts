/** A standby of one tenant with real files and the log of a rig. Its orders are done in this process. */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {EngineError} from '../../../cluster/log/log-engine.ts';
import {LogError} from '../../../cluster/log/log-error.ts';
import type {TenantName} from '../../../cluster/log/subjects.ts';
import {delay} from '../../../cluster/log/timing.ts';
import {CopyRate} from '../../../cluster/standby/copy-rate.ts';
import type {FileAnswer, FileOrder} from '../../../cluster/standby/file-order.ts';
import {runOrder} from '../../../cluster/standby/file-work.ts';
import {storeBase} from '../../../cluster/standby/new-base.ts';
import {Standby} from '../../../cluster/standby/standby.ts';
import {makeMemoryDirectory} from '../../harness/memory-directory.ts';
import type {Host, Rig} from './rig.ts';

const STEPS_MAX = 2_000;

export class StandbyHost {
  readonly root = makeMemoryDirectory('svc-standby-');
  readonly path: string;
  readonly standby: Standby;
  readonly reports: string[] = [];
  readonly #rig: Rig;
  readonly #host: Host;
  /** Resolves when the order begins. */
  before: (order: FileOrder) => Promise<void> | void = () => undefined;
  /** Null: the order is done. */
  fault: (order: FileOrder) => FileAnswer | null = () => null;

  constructor(rig: Rig, host: Host, tenant: TenantName, path?: string) {
    [this.#rig, this.#host] = [rig, host];
    this.path = path ?? join(this.root, 'tenant', 'tenant.sqlite');
    mkdirSync(join(this.root, 'scratch'));
    const clock = {after: rig.timing.after.bind(rig.timing), nowMs: 0};
    this.standby = new Standby({
      tenant,
      log: host.log(tenant),
      bases: host.replicated.bases,
      files: {
        run: async order => {
          await this.before(order);
          return this.fault(order) ?? runOrder(order, 0);
        },
      },
      target: {path: this.path, owner: null},
      scratch: join(this.root, 'scratch', 'fetched'),
      rate: new CopyRate(null, clock),
      report: sentence => this.reports.push(sentence),
    });
  }

  /** Steps until the file is at the tail that a reading finds. Reads fail or are stale, so it goes on. */
  async follow(): Promise<void> {
    for (let left = STEPS_MAX; left > 0; left--) {
      try {
        const step = await this.standby.step();
        if (step === 'current') return;
        if (step === 'base_needed') await this.standby.seed();
      } catch (error) {
        const isTemporary = error instanceof EngineError || (error instanceof LogError && error.code === 'behind');
        if (!isTemporary) throw error;
      }
      await delay(this.#rig.timing, 20);
    }
    throw new Error('the standby does not reach the tail');
  }

  /** Of the file as it is. */
  async storeBase(): Promise<string> {
    const written = await this.standby.writeBase(join(this.root, 'scratch', 'base'));
    if (written === null) return 'absent';
    const kind = await storeBase(this.#host.replicated, this.standby.tenant, written);
    if (kind === 'stored') this.standby.baseStored(written.position);
    return kind;
  }

  end(): void {
    rmSync(this.root, {recursive: true});
  }
}
