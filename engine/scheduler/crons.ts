/**
 * Crons: work that repeats. A cron's ticks (`ticks.ts`) are at whole intervals from the time its schedule was set, or
 * at the times of its expression. After missed ticks (the tenant slept, the server was down, the clock was set forward)
 * it runs once for all of them and keeps its phase. When the clock is set back, its next tick is the first one of the
 * new time, so it neither pauses nor repeats a burst. A clock corrected by less than CLOCK_STEP_MS does not count as
 * set back: ticks wait until it has caught up, so none runs twice or early.
 */
import {Buffer} from 'node:buffer';
import type Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {conflict, invalid, notFound, rateLimited, ServiceError} from '../../shared/errors.ts';
import {CRON_NAME_CHARS_MAX} from '../../shared/limits.ts';
import {isPrintableName} from '../../shared/printable-name.ts';
import {type Attempted, attempt} from '../commit/attempt.ts';
import type {Writer} from '../commit/writer.ts';
import {CLOCK_STEP_MS, CRON_TIMES_DEFAULT, CRON_TIMES_MAX, CRONS_MAX, ROWS_SUMMED_MAX} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading, reportDamage} from '../storage/damage.ts';
import {checkedRowOf, isSoundRow, rowChecksum, rowDamage} from '../storage/row-checksum.ts';
import {checkSums} from '../storage/row-sums.ts';
import type {CronRow} from '../storage/statements.ts';
import {cronRunText, noteCronRun} from './cron-runs.ts';
import {type ListEntry, type ListRequest, listText, notAListCursor, rowsRequested} from './list-page.ts';
import {firstTick, nextTicks, type Rhythm, shownSchedule, tickAfter} from './ticks.ts';
import {failureText, type RunFunctionJob, storedWork} from './work.ts';

/** @throws op.invalid_input 400 */
export function checkCronName(name: string): void {
  if (name.length >= 1 && name.length <= CRON_NAME_CHARS_MAX && isPrintableName(name)) return;
  throw invalid(`name must have 1 to ${CRON_NAME_CHARS_MAX} printable characters without /, and not be . or ..`);
}

/** @throws op.conflict 409 when a cron of this name exists */
export function createCron(writer: Writer, nowMs: number, name: string, rhythm: Rhythm, mutation: string): void {
  const {statements} = writer;
  if (statements.cron.get(name) !== undefined) {
    throw conflict(`a cron ${JSON.stringify(name)} exists; delete it to define it again`);
  }
  if (statements.countCrons.get()! >= CRONS_MAX) throw rateLimited(`a tenant has at most ${CRONS_MAX} crons`);
  const cron: CronRow = {
    name,
    ...rhythm,
    mutation,
    enabled: 1,
    last_run: null,
    next_run: firstTick(rhythm, nowMs),
    created_at: nowMs,
    last_outcome: null,
    last_error: null,
    failures: 0,
  };
  statements.insertCron.run({...cron, checksum: rowChecksum('crons', cron)});
  writer.grew(Buffer.byteLength(mutation));
  writer.eventText('cron.created', `{"type":"cron.created","name":${JSON.stringify(name)},"cron":${cronText(cron)}}`);
}

export type CronChange = {rhythm?: Rhythm; mutation?: string; isEnabled?: boolean};

/**
 * Changes the named members in place: outcomes and history stay. A new schedule begins now; a cron that is enabled
 * again continues with the first tick of its old schedule after now. @returns the cron as clients see it.
 * @throws op.not_found 404
 */
export function changeCron(
  writer: Writer,
  nowMs: number,
  name: string,
  {rhythm, mutation, isEnabled}: CronChange,
): string {
  const {statements} = writer;
  const cron = existing(writer, name);
  const isBack = isEnabled === true && cron.enabled === 0;
  const isOther = rhythm !== undefined && JSON.stringify(shownSchedule(rhythm)) !== JSON.stringify(shownSchedule(cron));
  const changed: CronRow = {
    ...cron,
    ...(isOther ? rhythm : {}),
    mutation: mutation ?? cron.mutation,
    enabled: isEnabled === undefined ? cron.enabled : Number(isEnabled),
    next_run: isOther ? firstTick(rhythm, nowMs) : isBack ? tickAfter(cron, nowMs) : cron.next_run,
  };
  const checksum = rowChecksum('crons', changed);
  if (checksum === cron.checksum) return cronText(cron); // nothing has changed
  const {changes} = statements.cronDefined.run({...changed, checksum});
  assert(changes === 1, `cron ${name} is there to be changed`);
  writer.grew(Buffer.byteLength(changed.mutation) - Buffer.byteLength(cron.mutation));
  const text = cronText({...changed, checksum});
  writer.eventText('cron.changed', `{"type":"cron.changed","name":${JSON.stringify(name)},"cron":${text}}`);
  return text;
}

/** @throws op.not_found 404, op.storage_damaged 503 */
function existing(writer: Writer, name: string): CronRow {
  const cron = writer.statements.cron.get(name);
  if (cron === undefined) throw noCron(name);
  return checkedRowOf('crons', cron);
}

function noCron(name: string): ServiceError {
  return notFound(`there is no cron ${JSON.stringify(name.slice(0, CRON_NAME_CHARS_MAX))}`);
}

/** Deletes its history too. @throws op.not_found 404 */
export function deleteCron(writer: Writer, name: string): void {
  if (writer.statements.deleteCron.run(name).changes === 0) throw noCron(name);
  writer.statements.forgetCronRuns.run(name, name, 0);
  writer.event({type: 'cron.deleted', name});
}

/**
 * Runs it now, enabled or not; its ticks stay. @returns the run, in the form of its history. @throws op.not_found 404
 */
export function runCronNow(writer: Writer, nowMs: number, name: string, runFunction: RunFunctionJob): string {
  const cron = existing(writer, name);
  const work = storedWork(writer, name, cron.mutation, runFunction);
  const times = {id: `${name}@now-${nowMs}`, due: null, next: cron.next_run};
  const {outcome, error} = run(writer, cron, nowMs, times, work);
  return cronRunText({due: null, ran_at: nowMs, outcome, error});
}

/**
 * `error`: null when it completed. `failures`: consecutive failures, including this run; `failuresBefore`: before this
 * run. `isDisabled`: its next tick could not be computed.
 */
export type TickRun = {
  lateMs: number;
  error: string | null;
  failures: number;
  failuresBefore: number;
  isDisabled: boolean;
};

/**
 * Runs a due cron. If it no longer exists, or its tick has already run, nothing happens. A damaged cron stays as it is.
 * If the next tick cannot be computed, the cron fails instead of running, and is disabled, because it would stay due
 * for ever. A write that checks first: the failure of a run is in its result.
 */
export function runCron(
  writer: Writer,
  nowMs: number,
  name: string,
  runFunction: RunFunctionJob,
): TickRun | 'damaged' | null {
  const {statements} = writer;
  const cron = statements.cron.get(name);
  if (cron === undefined) return null;
  if (!isSoundRow('crons', cron)) {
    reportDamage(rowDamage('crons', cron));
    return 'damaged';
  }
  if (cron.next_run > nowMs) return null;
  const {next_run: due, failures: failuresBefore, mutation} = cron;
  const next = tickIfKnown(cron, nowMs);
  const isDisabled = next instanceof ServiceError;
  const work = isDisabled ? failing(next) : storedWork(writer, name, mutation, runFunction);
  const times = {id: `${name}@${due}`, due, next: isDisabled ? due : next};
  const {error, failures} = run(writer, cron, nowMs, times, work);
  if (isDisabled) changeCron(writer, nowMs, name, {isEnabled: false});
  return {lateMs: nowMs - due, error, failures, failuresBefore, isDisabled};
}

function failing(error: ServiceError): Attempted {
  const run = () => {
    throw error;
  };
  return {checksFirst: true, run};
}

/** @param id of the run. @param due the tick; null: a manual run. @param next the next tick after this run */
function run(
  writer: Writer,
  cron: CronRow,
  nowMs: number,
  {id, due, next}: {id: string; due: number | null; next: number},
  work: Attempted,
): {outcome: 'completed' | 'failed'; error: string | null; failures: number} {
  const {name} = cron;
  const failure = attempt(writer, {id, cause: {kind: 'cron', cron: name}}, work);
  const outcome = failure === null ? 'completed' : 'failed';
  const error = failureText(failure, cron.mutation);
  const failures = failure === null ? 0 : cron.failures + 1;
  change(writer, {...cron, last_run: nowMs, next_run: next, last_outcome: outcome, last_error: error, failures});
  noteCronRun(writer, name, {due, ran_at: nowMs, outcome, error});
  writer.event({type: 'cron.fired', name, last_run: nowMs, next_run: next, outcome, error});
  return {outcome, error, failures};
}

/**
 * Whether the clock was set back: some cron has a tick before its stored next one, and not within CLOCK_STEP_MS.
 * @param looksAtAll also checks crons with an expression, which takes longer
 */
export function isAnyCronFar(writer: Writer, nowMs: number, looksAtAll: boolean): boolean {
  return farCrons(writer, nowMs, looksAtAll).length > 0;
}

/** Reschedules those crons: they continue with the first tick of the new time. */
export function rephaseCrons(writer: Writer, nowMs: number): number {
  const far = farCrons(writer, nowMs, true);
  for (const cron of far) {
    const next = tickAfter(cron, nowMs);
    change(writer, {...cron, next_run: next});
    writer.event({type: 'cron.rescheduled', name: cron.name, next_run: next});
  }
  return far.length;
}

/** A damaged one stays as it is. */
function farCrons({statements}: Writer, nowMs: number, looksAtAll: boolean): CronRow[] {
  const fromMs = nowMs + CLOCK_STEP_MS;
  const far = statements.farCrons.all(fromMs).filter(isSound);
  if (!looksAtAll) return far;
  const byExpression = statements.cronsByExpression.all(fromMs).filter(isSound);
  return [
    ...far,
    ...byExpression.filter(cron => {
      const next = tickIfKnown(cron, fromMs);
      return !(next instanceof ServiceError) && next < cron.next_run;
    }),
  ];
}

/** Returns the error if the tick cannot be computed: the cron reports it when it is due. */
function tickIfKnown(cron: CronRow, nowMs: number): number | ServiceError {
  try {
    return tickAfter(cron, nowMs);
  } catch (caught) {
    if (caught instanceof ServiceError) return caught;
    throw caught;
  }
}

function isSound(cron: CronRow): boolean {
  return isSoundRow('crons', cron);
}

function change(writer: Writer, cron: CronRow): void {
  const {name, last_run, next_run, last_outcome, last_error, failures} = cron;
  const checksum = rowChecksum('crons', cron);
  writer.statements.cronChanged.run(last_run, next_run, last_outcome, last_error, failures, checksum, name);
}

/** A cron as clients see it; work is stored as JSON text. @throws op.storage_damaged 503 */
function cronText(row: CronRow): string {
  const {name, mutation, enabled, last_run, next_run, created_at, last_outcome, last_error, failures} = checkedRowOf(
    'crons',
    row,
  );
  return (
    `{"name":${JSON.stringify(name)},"schedule":${JSON.stringify(shownSchedule(row))},"mutation":${mutation},` +
    `"enabled":${enabled === 1},"last_run":${last_run},"next_run":${next_run},"created_at":${created_at},` +
    `"last_outcome":${JSON.stringify(last_outcome)},"last_error":${JSON.stringify(last_error)},"failures":${failures}}`
  );
}

export class CronReader {
  readonly #after: Database.Statement<[string, number], CronRow>;
  readonly #db: Connection;
  readonly #failing: Database.Statement<[], number>;
  readonly #one: Database.Statement<[string], CronRow>;

  constructor(db: Connection) {
    this.#db = db;
    this.#one = db.prepare('SELECT * FROM crons WHERE name = ?');
    this.#after = db.prepare('SELECT * FROM crons WHERE name > ? ORDER BY name LIMIT ? + 0');
    this.#failing = db.prepare<[], number>('SELECT count(*) FROM crons WHERE failures > 0').pluck();
  }

  /** Number of crons whose latest run failed. */
  failing(): number {
    return this.#failing.get()!;
  }

  /** `{"cron": cron object}`. @throws op.not_found 404 */
  cron(name: string): string {
    const row = reading(() => this.#one.get(name));
    if (row === undefined) throw noCron(name);
    return `{"cron":${cronText(row)}}`;
  }

  /** `{"times": [time]}`: when it is due next; none while it is not enabled. @throws op.not_found 404 */
  nextRuns(name: string, {limit}: ListRequest): string {
    const row = reading(() => this.#one.get(name));
    if (row === undefined) throw noCron(name);
    const count = Math.min(limit ?? CRON_TIMES_DEFAULT, CRON_TIMES_MAX);
    const cron = checkedRowOf('crons', row);
    return JSON.stringify({times: cron.enabled === 1 ? nextTicks(cron, count) : []});
  }

  /** Crons as JSON, by name. */
  *all(): Generator<string, void, void> {
    for (const row of this.#after.iterate('', -1)) yield cronText(row);
  }

  /** `{"crons": [cron object]}`, by name, or a page of them. @throws op.too_large 413, op.invalid_input 400 */
  list(request: ListRequest): string {
    checkSums(this.#db, 'crons', ROWS_SUMMED_MAX);
    return listText('crons', this.#entries(request), request);
  }

  *#entries(request: ListRequest): Generator<ListEntry, void, void> {
    const from = request.after === null ? '' : decodeCursor(request.after);
    for (const row of this.#after.iterate(from, rowsRequested(request))) {
      yield {text: cronText(row), cursor: Buffer.from(row.name).toString('base64url')};
    }
  }
}

/** The last name on the previous page. */
function decodeCursor(text: string): string {
  const name = Buffer.from(text, 'base64url').toString();
  if (name === '' || Buffer.from(name).toString('base64url') !== text) throw notAListCursor();
  return name;
}
