/**
 * Histories of crons: the outcomes of the newest runs of each. They are written in the same write as the run, and are
 * not part of the journal's state.
 */
import type Database from 'better-sqlite3';
import type {CronRun} from '../../shared/protocol/schedule.ts';
import type {Writer} from '../commit/writer.ts';
import {CRON_RUNS_KEEP, ROWS_SUMMED_MAX} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading} from '../storage/damage.ts';
import {checkedRowOf, rowChecksum} from '../storage/row-checksum.ts';
import {checkSums} from '../storage/row-sums.ts';
import {type ListEntry, type ListRequest, listText, notAListCursor, rowsRequested} from './list-page.ts';

export type CronRunRow = CronRun & {n: number; name: string; checksum: number};

export function noteCronRun({statements}: Writer, name: string, run: CronRun): void {
  const {due, ran_at, outcome, error} = run;
  statements.insertCronRun.run(name, due, ran_at, outcome, error, rowChecksum('cron_runs', {name, ...run}));
  statements.forgetCronRuns.run(name, name, CRON_RUNS_KEEP);
}

export function cronRunText({due, ran_at, outcome, error}: CronRun): string {
  return JSON.stringify({due, ran_at, outcome, error});
}

export class CronRunReader {
  readonly #db: Connection;
  readonly #before: Database.Statement<[string, number, number], CronRunRow>;

  constructor(db: Connection) {
    this.#db = db;
    this.#before = db.prepare('SELECT * FROM cron_runs WHERE name = ? AND n < ? ORDER BY n DESC LIMIT ? + 0');
  }

  /**
   * `{"runs": [run]}` of one cron, newest first, or a page of them. @throws op.invalid_input 400, op.storage_damaged
   * 503
   */
  list(name: string, request: ListRequest): string {
    checkSums(this.#db, 'cron_runs', ROWS_SUMMED_MAX);
    return listText('runs', this.#entries(name, request), request);
  }

  *#entries(name: string, request: ListRequest): Generator<ListEntry, void, void> {
    const before = request.after === null ? Number.MAX_SAFE_INTEGER : decodeCursor(request.after);
    for (const row of reading(() => this.#before.all(name, before, rowsRequested(request)))) {
      yield {text: cronRunText(checkedRowOf('cron_runs', row)), cursor: String(row.n)};
    }
  }
}

function decodeCursor(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw notAListCursor();
  return Number(text);
}
