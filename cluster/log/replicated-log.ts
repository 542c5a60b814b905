/** The log of a cluster: a log for each tenant, small records and bases, on any engine. */
import {Bases} from './bases.ts';
import type {LogEngine} from './log-engine.ts';
import {SmallRecords} from './small-records.ts';
import {Subjects, type TenantName} from './subjects.ts';
import {TenantLog} from './tenant-log.ts';
import {REAL_TIMING, type Timing} from './timing.ts';

export class ReplicatedLog {
  readonly records: SmallRecords;
  readonly bases: Bases;
  readonly #engine: LogEngine;
  readonly #subjects: Subjects;
  readonly #timing: Timing;

  constructor(engine: LogEngine, cluster: string, timing: Timing = REAL_TIMING) {
    this.#engine = engine;
    this.#subjects = new Subjects(cluster);
    this.#timing = timing;
    this.records = new SmallRecords(engine, timing, this.#subjects);
    this.bases = new Bases(engine, timing, this.#subjects, this.records);
  }

  tenant(name: TenantName): TenantLog {
    return new TenantLog(this.#engine, this.#timing, this.#subjects, name);
  }
}
