/**
 * Lists all scheduled work: jobs and crons, of the native API and of functions. Future work is in order of its time;
 * past runs are newest first. The lists are always paged, because a tenant can have a million jobs. They leave out
 * arguments, which can be long.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {PastRun, UpcomingWork} from '../../shared/protocol/schedule.ts';
import {PAGE_DOCUMENTS_MAX} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading, storageDamaged} from '../storage/damage.ts';
import {checkedRowOf} from '../storage/row-checksum.ts';
import {type CronRow, type JobRow, onFirstUse} from '../storage/statements.ts';
import type {CronRunRow} from './cron-runs.ts';
import type {ResultRow} from './jobs.ts';
import {type ListRequest, notAListCursor} from './list-page.ts';
import {shownSchedule} from './ticks.ts';

type Kind = 'cron' | 'job';
type What = Pick<PastRun, 'kind' | 'origin' | 'id' | 'type' | 'table' | 'function'>;
/** The position at which a page ended. */
type Position = {due: number; kind: Kind; id: string};
type NumberedResult = ResultRow & {n: number};
/** `readChars`: characters of stored work read for it. */
type Entry = {text: string; cursor: string; readChars: number};

export class AllWork {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: Connection) {
    this.#statements = prepare(db);
  }

  /** `{"scheduled": [work], "next_cursor"}`. @throws op.invalid_input 400, op.storage_damaged 503 */
  upcoming({limit, after}: ListRequest): string {
    const from = after === null ? BEFORE_ALL : decodePosition(after);
    // Of work due at the same time, crons come first.
    const crons = this.#statements.crons.iterate(
      ...(from.kind === 'cron' ? at(from.due, from.id) : at(from.due + 1, '')),
    );
    const jobs = this.#statements.jobs.iterate(...(from.kind === 'job' ? at(from.due, from.id) : at(from.due, '')));
    const merged = inOrder(crons, jobs, (cron, job) => cron.next_run <= job.run_at, cronEntry, jobEntry);
    return pageText('scheduled', merged, limit);
  }

  /** `{"runs": [run], "next_cursor"}`. @throws op.invalid_input 400, op.storage_damaged 503 */
  past({limit, after}: ListRequest): string {
    let [result, run] = after === null ? [NEWEST, NEWEST] : decodeNumbers(after);
    const workOf = this.#worksOfCrons();
    const entry = (past: PastRun, mutation: string) => ({
      text: JSON.stringify(past),
      cursor: `${result}-${run}`,
      readChars: mutation.length,
    });
    const merged = inOrder(
      this.#statements.runs.iterate(run),
      this.#statements.results.iterate(result),
      (cron, job) => cron.ran_at >= job.finished_at,
      row => {
        const {n, name, due, ran_at, outcome, error} = checkedRowOf('cron_runs', row);
        run = n;
        const mutation = workOf(name);
        return entry({...whatOf('cron', name, mutation), due, ran_at, outcome, error}, mutation);
      },
      row => {
        const {n, id, mutation, run_at, finished_at, outcome, error} = checkedRowOf('job_results', row);
        result = n;
        return entry({...whatOf('job', id, mutation), due: run_at, ran_at: finished_at, outcome, error}, mutation);
      },
    );
    return pageText('runs', merged, limit);
  }

  /** The current work of each cron, read once per page: a run stores only its cron's name. */
  #worksOfCrons(): (name: string) => string {
    const works = new Map<string, string>();
    return name => {
      const known = works.get(name);
      if (known !== undefined) return known;
      const row = reading(() => this.#statements.cron.get(name));
      // The cron exists, because the run was found through it.
      if (row === undefined) throw storageDamaged({check: 'rows', stored: `the cron ${JSON.stringify(name)} of a run`});
      const {mutation} = checkedRowOf('crons', row);
      works.set(name, mutation);
      return mutation;
    };
  }
}

function prepare(db: Connection) {
  return onFirstUse({
    jobs: () =>
      db.prepare<[number, string], JobRow>('SELECT * FROM jobs WHERE (run_at, id) > (?, ?) ORDER BY run_at, id'),
    crons: () =>
      db.prepare<[number, string], CronRow>(
        'SELECT * FROM crons WHERE (next_run, name) > (?, ?) ORDER BY next_run, name',
      ),
    results: () => db.prepare<[number], NumberedResult>('SELECT * FROM job_results WHERE n < ? ORDER BY n DESC'),
    /** Only runs of existing crons: a repair that removes a cron leaves its history. */
    runs: () =>
      db.prepare<[number], CronRunRow>(
        'SELECT * FROM cron_runs WHERE n < ? AND name IN (SELECT name FROM crons) ORDER BY n DESC',
      ),
    cron: () => db.prepare<[string], CronRow>('SELECT * FROM crons WHERE name = ?'),
  });
}

/**
 * Merges two sources into one list, with one row of each in memory. @param isFirst whether the first source's row comes
 * before the second's
 */
function* inOrder<A, B>(
  first: IterableIterator<A>,
  second: IterableIterator<B>,
  isFirst: (a: A, b: B) => boolean,
  entryOfFirst: (row: A) => Entry,
  entryOfSecond: (row: B) => Entry,
): Generator<Entry, void, void> {
  try {
    let a = reading(() => first.next());
    let b = reading(() => second.next());
    while (a.done !== true || b.done !== true) {
      if (a.done !== true && (b.done === true || isFirst(a.value, b.value))) {
        yield entryOfFirst(a.value);
        a = reading(() => first.next());
      } else if (b.done !== true) {
        yield entryOfSecond(b.value);
        b = reading(() => second.next());
      }
    }
  } finally {
    first.return?.();
    second.return?.();
  }
}

/** A page also ends early when it has read much. */
function pageText(member: string, entries: Generator<Entry, void, void>, limit: number | null): string {
  const texts: string[] = [];
  let next: string | null = null;
  let last = '';
  let chars = 0;
  for (const {text, cursor, readChars} of entries) {
    if (texts.length === (limit ?? PAGE_DOCUMENTS_MAX) || chars > RESULT_BYTES_MAX) {
      next = last;
      break;
    }
    texts.push(text);
    last = cursor;
    chars += text.length + readChars;
  }
  assert(texts.length <= (limit ?? PAGE_DOCUMENTS_MAX), 'a page has its number of entries at most');
  return `{"${member}":[${texts.join(',')}],"next_cursor":${JSON.stringify(next)}}`;
}

function at(due: number, id: string): [number, string] {
  return [due, id];
}

const BEFORE_ALL: Position = {due: Number.MIN_SAFE_INTEGER, kind: 'cron', id: ''};
const NEWEST = Number.MAX_SAFE_INTEGER;

function cronEntry(row: CronRow): Entry {
  const {name, mutation, enabled, next_run, created_at, last_outcome, failures} = checkedRowOf('crons', row);
  const due = enabled === 1 ? next_run : null;
  const work: UpcomingWork = {
    ...whatOf('cron', name, mutation),
    ...{due, created_at, schedule: shownSchedule(row), last_outcome, failures},
  };
  return {
    text: JSON.stringify(work),
    cursor: encoded({due: next_run, kind: 'cron', id: name}),
    readChars: mutation.length,
  };
}

function jobEntry(row: JobRow): Entry {
  const {id, mutation, run_at: due, created_at} = checkedRowOf('jobs', row);
  const work: UpcomingWork = {
    ...whatOf('job', id, mutation),
    ...{due, created_at, schedule: null, last_outcome: null, failures: 0},
  };
  return {text: JSON.stringify(work), cursor: encoded({due, kind: 'job', id}), readChars: mutation.length};
}

/** @param text of stored work */
function whatOf(kind: Kind, id: string, text: string): What {
  const work = JSON.parse(text) as {type: What['type']; table?: string; path?: string};
  const origin = work.type === 'function' ? 'function' : 'native';
  return {kind, origin, id, type: work.type, table: work.table ?? null, function: work.path ?? null};
}

function encoded({due, kind, id}: Position): string {
  return Buffer.from(JSON.stringify([due, kind, id])).toString('base64url');
}

function decodePosition(text: string): Position {
  try {
    const [due, kind, id] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    if (Number.isSafeInteger(due) && (kind === 'cron' || kind === 'job') && typeof id === 'string') {
      return {due: due as number, kind, id};
    }
  } catch {
    // It is none, as is said below.
  }
  throw notAListCursor();
}

function decodeNumbers(text: string): [result: number, run: number] {
  const [, result, run] = /^(\d{1,16})-(\d{1,16})$/.exec(text) ?? [];
  if (result === undefined || run === undefined) throw notAListCursor();
  return [Number(result), Number(run)];
}
