/**
 * Runs due jobs and crons. One timer waits for the next due job or cron, however many are pending. When it fires, due
 * work enters the commit group like any other write, a few at a time, so that requests get their turn in between.
 *
 *   idle ──arm──▶ armed ──time──▶ running ──nothing due, and all settled──▶ armed | idle
 *     ▲                              ├─ a batch has run, and those before have settled or are few: check again
 *     │                              └─ the writer refuses: the work stays due, and is retried
 *     └──stop── any
 *
 * So batches run while the disk syncs those before, and collect in a group: a commit costs about as much for a few jobs as
 * for many.
 *
 * Refused work blocks nothing else (up to DUE_AT_ONCE jobs, or those of the groups that were refused, and every cron): a
 * tenant at its quota refuses work that adds data, and work that would free space is due, too.
 *
 * Any error except a refusal is a bug, and ends the process.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {CLOCK_CHECK_MS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {BackgroundWrites} from '../commit/background.ts';
import type {Commit, Stage} from '../commit/commit.ts';
import type {Writer} from '../commit/writer.ts';
import {BACKGROUND_RETRY_MS, DUE_AT_ONCE, DUE_BATCHES_MAX, SUSPECT_RUNS_MAX} from '../limits.ts';
import {reportDamage} from '../storage/damage.ts';
import {Batch, BatchedWork} from './batch.ts';
import {isAnyCronFar, rephaseCrons, runCron, type TickRun} from './crons.ts';
import {type JobAhead, type JobRun, readAhead, runJob} from './jobs.ts';
import type {RunFunctionJob} from './work.ts';

/** `id times`: the function's job that is running while jobs run carefully. */
const SUSPECT_KEY = 'suspect_job';

function refuseToRun(): never {
  throw new ServiceError('op.failed', "the tenant's process ended each time this job ran; it is not run again");
}

const KIND = 'due work';

export class ScheduleRunner implements Stage {
  readonly #writer: Writer;
  readonly #background: BackgroundWrites;
  readonly #metrics: WorkerMetrics;
  /** Runs of crons that failed. */
  cronFailures = 0;
  readonly #log: Logger;
  readonly #clock: () => number;
  readonly #runFunction: RunFunctionJob;
  readonly #prepareFunction: (path: string) => Promise<boolean>;
  /** Refused by the writer, and waiting for a retry. */
  readonly #refusedJobs = new Set<string>();
  readonly #refusedCrons = new Set<string>();
  /** The writer has them: one that has run is due again for a moment if its group is rolled back. */
  readonly #submittedJobs = new Set<string>();
  /** Jobs whose functions could not be loaded: skipped until the next poll. */
  readonly #unprepared = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #running = false;
  /** The previous process did not end in order, and the work due since then has not all run yet. */
  #isCareful: boolean;
  #stopped = false;
  /** Jobs and crons that cannot run because their row is damaged: they stay where they are, and all others run. */
  readonly #damaged = new Set<string>();
  /**
   * Listed as due in this run, but missing or not due: cancelled just now. If listed again, the index entry has no row.
   */
  readonly #notDue = new Set<string>();
  /** The clock's time at the last poll. */
  #seenMs: number;
  readonly isOfEvents = true;

  /**
   * @param prepareFunction called before the write of a function's job, so that loading modules does not block other
   *   writes. False: the job cannot run now
   */
  constructor(
    writer: Writer,
    background: BackgroundWrites,
    metrics: WorkerMetrics,
    log: Logger,
    clock: () => number,
    runFunction: RunFunctionJob,
    isCareful = false,
    prepareFunction: (path: string) => Promise<boolean> = () => Promise.resolve(true),
  ) {
    this.#writer = writer;
    this.#seenMs = writer.head.timestamp;
    this.#background = background;
    this.#metrics = metrics;
    this.#log = log;
    this.#clock = clock;
    this.#runFunction = runFunction;
    this.#isCareful = isCareful;
    this.#prepareFunction = prepareFunction;
  }

  /** When the next job or cron is due, epoch milliseconds; null: none. */
  nextDueMs(): number | null {
    const {statements} = this.#writer;
    const enough = this.#damaged.size + 1;
    const times = [...this.#sound(statements.nextJobs.all(enough)), ...this.#sound(statements.nextCrons.all(enough))];
    return times.length === 0 ? null : Math.min(...times);
  }

  /** When the first of the runnable ones is due. */
  #sound(next: {id: string; due: number}[]): number[] {
    return next
      .filter(({id}) => !this.#damaged.has(id))
      .slice(0, 1)
      .map(({due}) => due);
  }

  /** A commit that schedules or cancels work changes when the next is due. */
  committed({events}: Commit): void {
    if (events.some(({type}) => type.startsWith('job.') || type.startsWith('cron.'))) this.arm();
  }

  /** Cancelled work is due again. */
  takenBack(): void {
    this.arm();
  }

  /** Call it at the start, too. */
  arm(): void {
    if (this.#running || this.#stopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const dueMs = this.nextDueMs();
    if (dueMs === null) return;
    // Never longer than CLOCK_CHECK_MS: timers count elapsed time and do not notice when the clock is set.
    const waitMs = Math.min(Math.max(this.#leastWaitMs, dueMs - this.#clock()), CLOCK_CHECK_MS);
    this.#timer = setTimeout(() => void this.#run(), waitMs);
  }

  /** Refused work stays due, so polling for it continuously would be useless. */
  get #leastWaitMs(): number {
    return this.#refusedJobs.size + this.#refusedCrons.size + this.#unprepared.size > 0 ? BACKGROUND_RETRY_MS : 0;
  }

  /** Starts nothing more; work that the writer already has is finished there. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    assert(!this.#running, 'due work runs in one place');
    this.#timer = null;
    this.#running = true;
    this.#unprepared.clear();
    await this.#rephase();
    const batches: Batch[] = [];
    while (!this.#stopped) {
      const batch = await this.#submitDue();
      if (batch !== null) {
        batches.push(batch);
        await batch.ran;
      }
      if (batch === null && batches.length === 0) break;
      if (batch === null || batches.length >= DUE_BATCHES_MAX) await batches.shift()!.settled;
    }
    for (const {settled} of batches) await settled;
    this.#notDue.clear();
    this.#isCareful = false;
    this.#running = false;
    this.arm();
  }

  async #rephase(): Promise<void> {
    const nowMs = this.#clock();
    const wentBack = nowMs < this.#seenMs;
    this.#seenMs = nowMs;
    if (!isAnyCronFar(this.#writer, nowMs, wentBack)) return;
    const moved = await this.#background.perform(KIND, writer => rephaseCrons(writer, nowMs));
    this.#log.warn('the clock was set back; crons keep their phase in the new time', {crons: moved});
  }

  /** Submits one batch of due work; null: nothing is due but work that was refused or that the writer has. */
  async #submitDue(): Promise<Batch | null> {
    const nowMs = this.#clock();
    const {statements} = this.#writer;
    const skipped = [this.#damaged, this.#refusedJobs, this.#unprepared];
    // A submitted job that is still due was refused, or is damaged, and its group has not settled.
    const jobs = statements.dueJobs
      .all(nowMs, DUE_AT_ONCE + skipped.reduce((sum, {size}) => sum + size, 0))
      .filter(id => !this.#submittedJobs.has(id) && !skipped.some(ids => ids.has(id)))
      .slice(0, Math.max(0, DUE_AT_ONCE - this.#refusedJobs.size - this.#unprepared.size));
    const crons = statements.dueCrons
      .all(nowMs, DUE_AT_ONCE + this.#damaged.size + this.#refusedCrons.size)
      .filter(name => !this.#damaged.has(name) && !this.#refusedCrons.has(name))
      .slice(0, DUE_AT_ONCE);
    if (jobs.length + crons.length === 0) return null;
    if (this.#isCareful) for (const id of jobs.splice(0)) if (!this.#stopped) await this.#runCarefully(id);
    const batch = new Batch(jobs.length + crons.length);
    const ahead = readAhead(this.#writer, jobs);
    for (const id of jobs) this.#submitJob(id, this.#runFunction, new BatchedWork(batch), ahead.get(id));
    for (const name of crons) this.#submitCron(name, new BatchedWork(batch));
    return batch;
  }

  /** Refused work is retried, and its batch does not wait for that. @param then called when the work is durable */
  #submit<T>(
    id: string,
    refused: Set<string>,
    work: BatchedWork,
    run: (writer: Writer) => T,
    then: (result: T) => void,
  ): void {
    this.#background.submit<T>(KIND, {
      checksFirst: true,
      collects: true,
      run,
      onParked: () => {
        refused.add(id);
        this.#submittedJobs.delete(id);
        work.settled();
      },
      done: result => {
        then(result);
        this.#submittedJobs.delete(id);
        work.settled();
        if (refused.delete(id)) this.arm();
      },
    });
  }

  /**
   * Notes the job durably before it runs. If this process does not survive the job either, the next start counts that,
   * and after the last attempt the job fails. So a function that no time-out stops cannot take its tenant down for
   * ever.
   */
  async #runCarefully(id: string): Promise<void> {
    const times = await this.#background.perform(KIND, ({statements}) => {
      const [known = '', count = '0'] = String(statements.meta.get(SUSPECT_KEY) ?? '').split(' ');
      const runs = known === id ? Number(count) + 1 : 1;
      statements.setMeta.run(SUSPECT_KEY, `${id} ${runs}`);
      return runs;
    });
    const runFunction = times > SUSPECT_RUNS_MAX ? refuseToRun : this.#runFunction;
    const batch = new Batch(1);
    this.#submitJob(id, runFunction, new BatchedWork(batch));
    await batch.settled;
  }

  #submitJob(id: string, runFunction: RunFunctionJob, work: BatchedWork, ahead?: JobAhead): void {
    this.#submittedJobs.add(id);
    const submit = (): void =>
      this.#submit(
        id,
        this.#refusedJobs,
        work,
        writer => {
          work.ran();
          return runJob(writer, this.#clock(), id, runFunction, ahead);
        },
        ran => this.#jobRan(id, ran),
      );
    const path = ahead === undefined ? (this.#writer.statements.jobFunction.get(id) ?? null) : null;
    if (path === null) submit();
    else void this.#prepare(id, path, work, submit);
  }

  async #prepare(id: string, path: string, work: BatchedWork, submit: () => void): Promise<void> {
    if (await this.#prepareFunction(path)) {
      submit();
      return;
    }
    this.#unprepared.add(id);
    this.#submittedJobs.delete(id);
    work.settled();
  }

  #submitCron(cron: string, work: BatchedWork): void {
    this.#submit(
      cron,
      this.#refusedCrons,
      work,
      writer => runCron(writer, this.#clock(), cron, this.#runFunction),
      ran => this.#cronRan(cron, ran),
    );
  }

  #jobRan(id: string, ran: JobRun | 'damaged' | null): void {
    if (ran === 'damaged') this.#damaged.add(id);
    else if (ran === null) this.#wasNotDue('job', id);
    else this.#ran('job', ran.lateMs, ran.failed);
  }

  #ran(kind: 'job' | 'cron', lateMs: number, failed: boolean): void {
    this.#metrics.count('svc_scheduled_runs_total', {kind, outcome: failed ? 'failed' : 'completed'});
    this.#metrics.observe('svc_scheduled_lateness_seconds', lateMs / 1000);
  }

  /** The index of due times has an entry without a row, which would be found due for ever. */
  #wasNotDue(kind: 'job' | 'cron', id: string): void {
    if (!this.#notDue.has(id)) {
      this.#notDue.add(id);
      return;
    }
    this.#damaged.add(id);
    reportDamage({check: 'entry', stored: `the ${kind} ${JSON.stringify(id)}`, index: `${kind}s_by_time`});
  }

  /** Logs the first failure, then at powers of ten, because a cron may fail every second. */
  #cronRan(cron: string, ran: TickRun | 'damaged' | null): void {
    if (ran === 'damaged') this.#damaged.add(cron);
    if (ran === null) this.#wasNotDue('cron', cron);
    if (ran === null || ran === 'damaged') return;
    const {lateMs, error, failures, failuresBefore, isDisabled} = ran;
    this.#ran('cron', lateMs, error !== null);
    if (error !== null) this.cronFailures++;
    if (error === null && failuresBefore > 0) {
      this.#log.info('a cron that failed completes again', {cron, failures: failuresBefore});
    }
    if (isDisabled) this.#log.warn('a cron was disabled: its next time cannot be determined', {cron, error});
    else if (error !== null && /^10*$/.test(String(failures))) this.#log.warn('a cron failed', {cron, failures, error});
  }
}
