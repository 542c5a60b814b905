/** The log of a cluster: a log for each tenant, small records, bases and packages, on any engine. */
import {Bases} from './bases.ts';
import type {LogEngine} from './log-engine.ts';
import {Packages} from './packages.ts';
import {SmallRecords} from './small-records.ts';
import {Subjects, type TenantName} from './subjects.ts';
import {TenantLog} from './tenant-log.ts';
import {REAL_TIMING, type Timing} from './timing.ts';

export class ReplicatedLog {
  readonly records: SmallRecords;
  readonly bases: Bases;
  readonly packages: Packages;
  readonly #engine: LogEngine;
  readonly #subjects: Subjects;
  readonly #timing: Timing;

  constructor(engine: LogEngine, cluster: string, timing: Timing = REAL_TIMING) {
    this.#engine = engine;
    this.#subjects = new Subjects(cluster);
    this.#timing = timing;
    this.records = new SmallRecords(engine, timing, this.#subjects);
    this.bases = new Bases(engine, timing, this.#subjects, this.records);
    this.packages = new Packages(engine, timing, this.#subjects, this.records);
  }

  tenant(name: TenantName): TenantLog {
    return new TenantLog(this.#engine, this.#timing, this.#subjects, name);
  }

  /**
   * Which logs of a shard get records, as they do: the token of the tenant for each record, without the record. `null`,
   * once: a reading that begins now has what was appended before, and what is appended later is returned. It ends when the
   * signal aborts. @throws EngineError when it might miss a record: the caller begins again, and reads all its logs
   */
  async *newRecords(shard: number, signal: AbortSignal): AsyncGenerator<string | null> {
    const stream = {kind: 'log', shard} as const;
    const prefix = this.#subjects.prefix(stream);
    for await (const message of this.#engine.watch(stream, [prefix], {from: null, signal, isBare: true})) {
      const token = message === null ? null : message.subject.slice(prefix.length);
      // Parts are sent before their record.
      if (token === null || !token.includes('.')) yield token;
    }
  }
}
