/**
 * Jobs: work that runs once, at its time or as soon as possible after. A job is in `jobs` until it has run or was
 * cancelled, and in `job_results` from then on. The move, its effect and the journal record are one write, so a job
 * runs exactly once, whenever the process is killed. A failed job is not retried unless a request creates a new job.
 */
import {Buffer} from 'node:buffer';
import type Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {conflict, notFound, rateLimited, type ServiceError} from '../../shared/errors.ts';
import type {JobTrace, Mutation} from '../../shared/protocol/schedule.ts';
import {attempt, type Execution} from '../commit/attempt.ts';
import type {Writer} from '../commit/writer.ts';
import {
  JOB_AHEAD_BYTES_MAX,
  JOB_RESULTS_KEEP,
  JOBS_PENDING_BYTES_MAX,
  JOBS_PENDING_MAX,
  ROWS_SUMMED_MAX,
} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading, reportDamage} from '../storage/damage.ts';
import {checkedRowOf, isSoundRow, rowChecksum, rowDamage} from '../storage/row-checksum.ts';
import {checkSums} from '../storage/row-sums.ts';
import type {JobRow} from '../storage/statements.ts';
import {type ListEntry, type ListRequest, listText, notAListCursor, rowsRequested} from './list-page.ts';
import {failureText, mutationAttempt, parseWork, type RunFunctionJob, storedWork} from './work.ts';

/** @param nowMs the clock's time, @param mutation stored text of checked work. @returns the job's id */
export function scheduleJob(writer: Writer, nowMs: number, runAfterMs: number, mutation: string): string {
  return insertJob(writer, nowMs, nowMs + runAfterMs, mutation);
}

/**
 * A job that runs a function.
 * @param trace of the call or request that schedules it
 * @param scheduledBy the caller that can cancel it without an admin credential: a token identifier, empty for a caller
 *   without a token; null: no such caller
 * @returns its id
 * @throws op.rate_limited 429
 */
export function insertFunctionJob(
  writer: Writer,
  nowMs: number,
  {path, args, runAtMs}: {path: string; args: string; runAtMs: number},
  trace: JobTrace,
  scheduledBy: string | null = null,
): string {
  const work = `{"type":"function","path":${JSON.stringify(path)},"args":${args},"trace":${JSON.stringify(trace)}}`;
  return insertJob(writer, nowMs, runAtMs, work, scheduledBy);
}

function insertJob(
  writer: Writer,
  nowMs: number,
  runAtMs: number,
  work: string,
  scheduledBy: string | null = null,
): string {
  const {statements, pendingJobs} = writer;
  const workBytes = Buffer.byteLength(work);
  if (pendingJobs.jobs >= JOBS_PENDING_MAX) {
    throw rateLimited(`${JOBS_PENDING_MAX} jobs are pending already; cancel some or wait`);
  }
  if (pendingJobs.bytes + workBytes > JOBS_PENDING_BYTES_MAX) {
    throw rateLimited(
      `pending jobs with their arguments may take ${JOBS_PENDING_BYTES_MAX} bytes, and this one is too much; cancel some or wait`,
    );
  }
  const id = writer.newJobId();
  writer.pendingJobsChange(1, workBytes);
  assert(writer.pendingJobs.jobs <= JOBS_PENDING_MAX, 'pending jobs are counted within their limit');
  const job: JobRow = {id, run_at: Math.round(runAtMs), created_at: nowMs, mutation: work, scheduled_by: scheduledBy};
  statements.insertJob.run(id, job.run_at, nowMs, work, scheduledBy, rowChecksum('jobs', job));
  writer.eventText('job.scheduled', `{"type":"job.scheduled","id":"${id}","job":${jobText(job)}}`);
  return id;
}

/** @throws op.not_found 404 when no such job is pending: it has run, was cancelled, or never existed */
export function cancelJob(writer: Writer, id: string): void {
  if (!removeJob(writer, id)) throw jobNotFound(id, 'pending job');
}

/** The same for a caller without an admin credential: jobs of other callers are reported as not found. */
export function cancelOwnJob(writer: Writer, id: string, scheduledBy: string): void {
  const job = writer.statements.jobToCancel.get(id);
  if (job === undefined || job.scheduled_by !== scheduledBy) throw jobNotFound(id, 'pending job of yours');
  cancelJob(writer, id);
}

/** @returns whether it was pending */
export function removeJob(writer: Writer, id: string): boolean {
  const job = writer.statements.jobToCancel.get(id);
  if (job === undefined) return false;
  const {changes} = writer.statements.deleteJob.run(id);
  assert(changes === 1, `job ${id} is cancelled once`);
  writer.pendingJobsChange(-1, job.bytes);
  writer.event({type: 'job.cancelled', id});
  return true;
}

export type JobRun = {lateMs: number; failed: boolean};

/** A due job that was read before its write, and is sound. */
export type JobAhead = {readonly row: JobRow; readonly work: Mutation};

/**
 * Of these jobs, those that change a document, read in one statement. A stored job never changes, so its write only has to
 * find that it is still there. Others are read in their writes: those with long texts, of functions, and damaged ones.
 */
export function readAhead({statements}: Writer, ids: readonly string[]): Map<string, JobAhead> {
  const ahead = new Map<string, JobAhead>();
  for (const row of statements.jobsAhead.all(JSON.stringify(ids), JOB_AHEAD_BYTES_MAX)) {
    if (!isSoundRow('jobs', row)) continue;
    const work = parseWork(row.mutation);
    if (work.type !== 'function') ahead.set(row.id, {row, work});
  }
  return ahead;
}

/**
 * Runs a due job. A missing one was cancelled, and one that is not due stays. A damaged one stays as it is. A write that
 * checks first: the only error is that of an attempt that was rolled back, when there is no room for its function.
 */
export function runJob(
  writer: Writer,
  nowMs: number,
  id: string,
  runFunction: RunFunctionJob,
  ahead?: JobAhead,
): JobRun | 'damaged' | null {
  if (ahead !== undefined) return runJobAhead(writer, nowMs, ahead);
  const {statements} = writer;
  const job = statements.job.get(id);
  if (job === undefined) return null;
  if (!isSoundRow('jobs', job)) {
    reportDamage(rowDamage('jobs', job));
    return 'damaged';
  }
  if (job.run_at > nowMs) return null;
  const failure = attempt(writer, executionOf(id), storedWork(writer, id, job.mutation, runFunction));
  // The job itself is not at fault: it stays due, and the runner retries.
  if (failure?.code === 'session.overloaded') throw failure;
  const {changes} = statements.deleteJob.run(id);
  assert(changes === 1, `job ${id} runs once`);
  writer.pendingJobsChange(-1, Buffer.byteLength(job.mutation));
  return hasRun(writer, nowMs, job, failure);
}

/** The job is removed before it runs. It never stays due: only a function can lack capacity. */
function runJobAhead(writer: Writer, nowMs: number, {row, work}: JobAhead): JobRun | null {
  if (row.run_at > nowMs || writer.statements.deleteJob.run(row.id).changes === 0) return null;
  // Counted before the attempt: if that ends with a bug, the group has changed, so it is not committed without a result.
  writer.pendingJobsChange(-1, Buffer.byteLength(row.mutation));
  const failure = attempt(writer, executionOf(row.id), mutationAttempt(writer, work));
  assert(failure?.code !== 'session.overloaded', `job ${row.id} has a result`);
  return hasRun(writer, nowMs, row, failure);
}

function executionOf(id: string): Execution {
  return {id, cause: {kind: 'job', job_id: id}};
}

/** The job has been removed and is not counted any more. */
function hasRun(writer: Writer, nowMs: number, job: JobRow, failure: ServiceError | null): JobRun {
  const {statements} = writer;
  const {id, run_at, mutation} = job;
  const outcome = failure === null ? 'completed' : 'failed';
  const error = failureText(failure, mutation);
  const checksum = rowChecksum('job_results', {id, run_at, finished_at: nowMs, mutation, outcome, error});
  const {lastInsertRowid} = statements.insertJobResult.run(id, run_at, nowMs, mutation, outcome, error, checksum);
  const forgotten = Number(lastInsertRowid) - JOB_RESULTS_KEEP;
  if (forgotten > 0) statements.forgetJobResults.run(forgotten);
  writer.event({type: `job.${outcome}`, id, finished_at: nowMs, error});
  return {lateMs: nowMs - run_at, failed: failure !== null};
}

export type ResultRow = Omit<JobRow, 'created_at' | 'scheduled_by'> & {
  finished_at: number;
  outcome: 'completed' | 'failed';
  error: string | null;
};

/** Jobs as clients read them, from committed data. */
export class JobReader {
  readonly #pending: Database.Statement<[number, string, number], JobRow>;
  readonly #job: Database.Statement<[string], JobRow>;
  readonly #result: Database.Statement<[string], ResultRow>;
  readonly #resultIds: Database.Statement<[], string>;
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
    this.#pending = db.prepare('SELECT * FROM jobs WHERE (run_at, id) > (?, ?) ORDER BY run_at, id LIMIT ? + 0');
    this.#job = db.prepare('SELECT * FROM jobs WHERE id = ?');
    this.#result = db.prepare('SELECT * FROM job_results WHERE id = ?');
    this.#resultIds = db.prepare<[], string>('SELECT id FROM job_results ORDER BY n').pluck();
  }

  /** Pending jobs as JSON, the next due first. */
  *pending(): Generator<string, void, void> {
    for (const row of this.#pending.iterate(...BEFORE_ALL, -1)) yield jobText(row);
  }

  /**
   * `{"jobs": [pending job]}`, the next due first, or a page of them. @throws op.too_large 413, op.invalid_input 400
   */
  list(request: ListRequest): string {
    checkSums(this.#db, 'jobs', ROWS_SUMMED_MAX);
    return listText('jobs', this.#entries(request), request);
  }

  *#entries(request: ListRequest): Generator<ListEntry, void, void> {
    const from = request.after === null ? BEFORE_ALL : decodeCursor(request.after);
    for (const row of this.#pending.iterate(...from, rowsRequested(request))) {
      yield {text: jobText(row), cursor: `${row.run_at}-${row.id}`};
    }
  }

  /** `{"job": pending job}`. @throws op.not_found 404 */
  job(id: string): string {
    const row = reading(() => this.#job.get(id));
    if (row === undefined) throw jobNotFound(id, 'pending job');
    return `{"job":${jobText(row)}}`;
  }

  /** `{"result": job result}`. @throws op.not_found 404 */
  result(id: string): string {
    const row = reading(() => this.#result.get(id));
    if (row === undefined) throw jobNotFound(id, 'job result');
    const {run_at, finished_at, mutation, outcome, error} = checkedRowOf('job_results', row);
    return (
      `{"result":{"id":"${id}","run_at":${run_at},"finished_at":${finished_at},"mutation":${mutation},` +
      `"outcome":"${outcome}","error":${JSON.stringify(error)}}}`
    );
  }

  /** The stored work of a job that failed. @throws op.not_found 404, op.conflict 409 */
  failedWork(id: string): string {
    const row = reading(() => this.#result.get(id));
    if (row === undefined) throw jobNotFound(id, 'job result');
    const {outcome, mutation} = checkedRowOf('job_results', row);
    if (outcome !== 'failed') throw conflict('the job has completed; only a failed job can be retried');
    return mutation;
  }

  /** Ids of the jobs with a stored result, oldest first. */
  resultIds(): string[] {
    return reading(() => this.#resultIds.all());
  }
}

/** Sorts before every job, in the order of due times. */
const BEFORE_ALL: [runAt: number, id: string] = [Number.MIN_SAFE_INTEGER, ''];

function decodeCursor(text: string): [runAt: number, id: string] {
  const [, runAt, id] = /^(-?\d{1,15})-([0-9a-z]{32})$/.exec(text) ?? [];
  if (runAt === undefined || id === undefined) throw notAListCursor();
  return [Number(runAt), id];
}

/** A pending job as clients see it; work is stored as JSON text. @throws op.storage_damaged 503 */
function jobText(row: JobRow): string {
  const {id, run_at, created_at, mutation} = checkedRowOf('jobs', row);
  return `{"id":"${id}","run_at":${run_at},"mutation":${mutation},"created_at":${created_at}}`;
}

function jobNotFound(id: string, what: string): ServiceError {
  return notFound(`there is no ${what} ${JSON.stringify(id.slice(0, 64))}`);
}
