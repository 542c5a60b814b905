/** A tenant's scheduler on a real file, with a clock that a test moves. Timers must be vitest's fake ones. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterEach, beforeEach, vi} from 'vitest';
import {BackgroundWrites} from '../../engine/commit/background.ts';
import type {Stage} from '../../engine/commit/commit.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {StorageQuota} from '../../engine/commit/storage-quota.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {createCron} from '../../engine/scheduler/crons.ts';
import {scheduleJob} from '../../engine/scheduler/jobs.ts';
import {ScheduleRunner} from '../../engine/scheduler/runner.ts';
import type {RunFunctionJob} from '../../engine/scheduler/work.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {type Damage, reportDamageTo} from '../../engine/storage/damage.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {CLOCK_CHECK_MS} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {promptSync} from '../harness/prompt-sync.ts';

/** What the clock says at first. */
export const START_MS = 1_800_000_000_000;
/** Stored text of a mutation that can always run. */
export const WORK = JSON.stringify({type: 'insert', table: 't', fields: {}});

/** One tenant's schedule, opened on its file as a worker opens it. */
export class Schedule {
  readonly #directory: string;
  db!: Connection;
  writer!: Writer;
  runner!: ScheduleRunner;
  quota!: StorageQuota;
  /** The next `open` takes it; 0: no limit. */
  storageBytesMax = 0;
  #groups!: CommitGroups;
  #background!: BackgroundWrites;
  /** What would have ended the process. */
  readonly failures: unknown[] = [];
  /** Commit groups since the start. */
  #commits = 0;
  nowMs = START_MS;
  /** How functions are run and prepared; the next `open` takes it. */
  functions: [run: RunFunctionJob, isCareful?: boolean, prepare?: (path: string) => Promise<boolean>] = [
    () => undefined,
  ];
  /** What was found damaged. */
  readonly damage: Damage[] = [];
  /** Lines of the log, as they were written. */
  readonly logged: string[] = [];

  constructor() {
    this.#directory = mkdtempSync(join(tmpdir(), 'svc-schedule-'));
    this.open();
  }

  open(): void {
    reportDamageTo(damage => void this.damage.push(damage));
    const log = createLogger({process: 'worker'}, {write: (line: string) => void this.logged.push(line)});
    const metrics = new WorkerMetrics();
    const clock = () => this.nowMs;
    this.db = openWriter(join(this.#directory, 'tenant.sqlite'));
    this.writer = new Writer(this.db, Catalog.read(this.db), clock);
    const committed: Stage['committed'] = commit => {
      this.#commits++;
      this.runner.committed(commit);
    };
    const stages: Stage[] = [{committed}];
    this.quota = new StorageQuota(this.db, this.storageBytesMax);
    const {writer, quota} = this;
    this.#groups = new CommitGroups({writer, metrics, log, stages, sync: promptSync, quota});
    this.#background = new BackgroundWrites(this.#groups, log, (_, error) => this.failures.push(error));
    this.runner = new ScheduleRunner(this.writer, this.#background, metrics, log, clock, ...this.functions);
    this.runner.arm();
  }

  close(): void {
    this.runner.stop();
    this.#background.stop();
    this.db.close();
  }

  remove(): void {
    this.close();
    rmSync(this.#directory, {recursive: true});
  }

  /** A request's write. */
  change<T>(write: (writer: Writer) => T): Promise<T> {
    return this.#groups.perform(write);
  }

  job(runAfterMs: number, work = WORK): Promise<string> {
    return this.change(writer => scheduleJob(writer, this.nowMs, runAfterMs, work));
  }

  cron(name: string, everyMs: number, work = WORK): Promise<unknown> {
    const rhythm = {interval_ms: everyMs, expression: null, time_zone: null};
    return this.change(writer => createCron(writer, this.nowMs, name, rhythm, work));
  }

  cronBy(name: string, expression: string, time_zone = 'UTC', work = WORK): Promise<unknown> {
    const rhythm = {interval_ms: 0, expression, time_zone};
    return this.change(writer => createCron(writer, this.nowMs, name, rhythm, work));
  }

  /** Time passes: the clock and the timers agree. */
  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    vi.advanceTimersByTime(ms);
    await this.settle();
  }

  /** Somebody sets the clock; the next look at it is a while away. */
  async setClock(toMs: number): Promise<void> {
    this.nowMs = toMs;
    await this.pass(CLOCK_CHECK_MS);
  }

  /** Lets work that has begun come to its end: no group commits for some turns. A busy machine needs more turns for a batch. */
  async settle(): Promise<void> {
    let commits = -1;
    for (let turn = 0; turn < 12; turn++) {
      if (commits !== this.#commits) turn = 0;
      commits = this.#commits;
      await new Promise(resolve => setImmediate(resolve));
      vi.advanceTimersByTime(0);
    }
    await this.#groups.idle();
  }

  /** Execution ids in the order they ran. */
  get runs(): string[] {
    return this.db
      .prepare<[], string>(
        `SELECT record ->> '$.scheduled_execution_id' FROM journal
         WHERE record ->> '$.scheduled_execution_id' IS NOT NULL ORDER BY sequence`,
      )
      .pluck()
      .all();
  }

  /** Changes the rows of a table behind the back of an index, which keeps its entries. */
  behind(index: string, ...statements: string[]): void {
    const path = join(this.#directory, 'tenant.sqlite');
    const change = (run: (db: Connection) => void) => {
      const db = new Database(path);
      db.unsafeMode();
      db.pragma('writable_schema = ON');
      run(db);
      db.pragma(`schema_version = ${(db.pragma('schema_version', {simple: true}) as number) + 1}`);
      db.close();
    };
    const row = this.db.prepare('SELECT * FROM sqlite_schema WHERE name = ?').raw().get(index);
    change(db => db.prepare('DELETE FROM sqlite_schema WHERE name = ?').run(index));
    change(db => {
      for (const statement of statements) db.exec(statement);
      db.prepare('INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)').run(row);
    });
  }

  nextRun(name: string): number {
    return this.writer.statements.cron.get(name)!.next_run;
  }
}

/** Each test of a file has one of its own, and timers that it drives. To be called at the top level. */
export function eachWithSchedule(use: (schedule: Schedule) => void): void {
  let schedule: Schedule;
  beforeEach(() => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    schedule = new Schedule();
    use(schedule);
  });
  afterEach(() => {
    schedule.remove();
    vi.useRealTimers();
  });
}
