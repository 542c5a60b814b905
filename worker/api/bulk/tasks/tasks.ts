/**
 * Tasks delete or patch all documents that match a query, or drop a table. They work in slices inside commit groups, so
 * that other requests wait for one slice at most.
 *
 *   running ──no page is left──▶ completed      ──a document refuses, on_error=stop; the query cannot be read──▶ failed
 *      └──cancel──▶ cancelled                     all of it in commits: whatever happens to the process, the next one goes on
 *
 * Documents are found by pages of the query in creation order. Each is checked again in the write that changes it, and
 * the same commit stores the position of the page. So a task has no single snapshot; its guarantee holds per document.
 * A document that existed when the task was made, and passes the filters when the task reaches it, is changed once. A
 * document made later is not changed, and no document is changed twice, even if its change makes it match again. Tasks
 * run one after another.
 *
 * A drop deletes all documents in that way. Then, in order with other schema changes, one write checks whether the
 * table is empty and removes its schema and indexes. If documents were made meanwhile, or the table was given a schema,
 * the drop fails, and the schema and these documents stay.
 */
import {Buffer} from 'node:buffer';
import {setTimeout as delay} from 'node:timers/promises';
import type {BackgroundWrites} from '../../../../engine/commit/background.ts';
import type {Cause} from '../../../../engine/commit/cause.ts';
import {CHANGES, changesIn, checkChanges} from '../../../../engine/commit/field-changes.ts';
import {patchEffect} from '../../../../engine/commit/mutation.ts';
import type {Writer} from '../../../../engine/commit/writer.ts';
import {BACKGROUND_RETRY_MS} from '../../../../engine/limits.ts';
import {compileFilters, matches} from '../../../../engine/reads/filter.ts';
import {type ListRequest, notAListCursor, rowsRequested} from '../../../../engine/scheduler/list-page.ts';
import type {SchemaChanges} from '../../../../engine/schema/change.ts';
import {hasDocuments, isThere, noTable, refuseDeployed} from '../../../../engine/schema/read.ts';
import type {CatalogTable} from '../../../../engine/storage/catalog.ts';
import type {Connection} from '../../../../engine/storage/connection.ts';
import {checkTableName, parseDocument} from '../../../../engine/storage/document.ts';
import {decodeId} from '../../../../engine/storage/ids.ts';
import {DOCS_PER_TABLE} from '../../../../engine/storage/tables.sql.ts';
import {assert} from '../../../../shared/assert.ts';
import {conflict, invalid, notFound, rateLimited, ServiceError, tooLarge} from '../../../../shared/errors.ts';
import {BULK_ERRORS_SHOWN} from '../../../../shared/limits.ts';
import type {FieldChanges} from '../../../../shared/protocol/documents.ts';
import type {PaginatedQueryBody} from '../../../../shared/protocol/queries.ts';
import type {Task, TaskBody, TaskList} from '../../../../shared/protocol/tasks.ts';
import {
  BULK_ERROR_CHARS,
  TASK_BYTES_MAX,
  TASK_DOCUMENTS_AT_ONCE,
  TASKS_KEPT_MAX,
  TASKS_RUNNING_MAX,
} from '../../limits.ts';
import {BulkRecords, damagedOnes} from '../bulk-records.ts';
import {type RunningTask, RunningTasks} from './running-tasks.ts';

type TaskRecord = Task & {
  changes: FieldChanges | null;
  skips: boolean;
  /** The last document that existed when the task was made. */
  to: number;
  /** Start of the next page; null: the beginning. */
  after: string | null;
  /** For a drop: its documents are deleted, and only its end is left. */
  isCleared?: boolean;
  /** What made it. Absent: it was made by an earlier version. */
  cause?: Cause;
};
type TaskRequest = Pick<TaskRecord, 'type' | 'query' | 'changes' | 'skips'>;
type Page = {data: {_id: string}[]; next_cursor: string | null};

export class Tasks {
  readonly #writerDb: Connection;
  readonly #background: BackgroundWrites;
  readonly #schemas: Pick<SchemaChanges, 'drop'>;
  readonly #page: (body: PaginatedQueryBody) => Promise<string>;
  readonly #records = new BulkRecords<TaskRecord>('task');
  readonly #running: RunningTasks;
  #isRunning = false;
  #isStopped = false;

  /** @param page returns the response of POST …/query/paginated. @throws as that, and session.overloaded 503 */
  constructor(
    writerDb: Connection,
    background: BackgroundWrites,
    schemas: Pick<SchemaChanges, 'drop'>,
    page: (body: PaginatedQueryBody) => Promise<string>,
  ) {
    this.#writerDb = writerDb;
    this.#background = background;
    this.#schemas = schemas;
    this.#page = page;
    this.#running = new RunningTasks(() => {
      const {records} = this.#records.all(writerDb);
      return records.filter(({state}) => state === 'running').map(headOf);
    });
  }

  /**
   * Creates a task from a body, in a write; call `wake` afterwards.
   * @throws op.invalid_input 400, op.too_large 413; op.rate_limited 429 in the write
   */
  made(body: TaskBody): (writer: Writer) => string {
    const {type, query, on_error: onError = 'stop'} = body;
    checkTableName(query.table);
    compileFilters(query.filters);
    const changes = changesIn(body);
    if (type === 'patch') {
      if (changes === null) throw invalid(`a task that patches has one or more of ${CHANGES.join(', ')}`);
      checkChanges(changes);
    } else if (changes !== null) throw invalid('a task that deletes has no changes');
    const bytes = Buffer.byteLength(JSON.stringify([query, changes]));
    if (bytes > TASK_BYTES_MAX) {
      const message = `filters and changes of a task may take ${TASK_BYTES_MAX} bytes; these take ${bytes}`;
      throw tooLarge(message);
    }
    return writer => this.#put(writer, {type, query, changes, skips: onError === 'skip'});
  }

  /**
   * Creates a task that drops a table, in a write; call `wake` afterwards.
   * @throws op.invalid_input 400; in the write op.not_found 404, op.conflict 409 for a table of the deployment or one
   *   that is being dropped, op.rate_limited 429
   */
  madeDrop(name: string): (writer: Writer) => string {
    checkTableName(name);
    return writer => {
      const table = writer.catalog.table(name);
      if (table !== undefined) refuseDeployed(table);
      if (table === undefined || !isThere(writer, table)) throw noTable(name);
      const [running] = this.#runningOn(writer, [name]).filter(({type}) => type === 'drop');
      if (running !== undefined) throw isUnderWay(running);
      return this.#put(writer, {type: 'drop', query: {table: name, filters: []}, changes: null, skips: false});
    };
  }

  /** Call in the write that gives a table a schema: an earlier drop would delete the schema, so it fails. */
  schemaSet(writer: Writer, name: string): void {
    for (const task of this.#runningOn(writer, [name])) {
      if (task.type !== 'drop') continue;
      const now = {...task, updated_at: Math.floor(writer.nowMs())};
      fail(now, '', conflict(`table ${name} was given a schema while it was dropped: drop it again`));
      this.#end(writer, now);
    }
  }

  /** @throws op.conflict 409 while a task is to change documents of these tables */
  refuseRunning(writer: Writer, tables: readonly string[]): void {
    const [running] = this.#runningOn(writer, tables);
    if (running !== undefined) throw isUnderWay(running);
  }

  #runningOn({db}: Writer, tables: readonly string[]): TaskRecord[] {
    const ones = this.#running.all.filter(({table}) => tables.includes(table));
    return ones.flatMap(({id}) => this.#records.sound(db, id) ?? []);
  }

  /** Call inside a write. */
  #store(writer: Writer, task: TaskRecord): void {
    this.#running.note(writer, headOf(task), task.state === 'running');
    this.#records.put(writer, task.id, task);
  }

  #put(writer: Writer, requested: TaskRequest): string {
    this.#makeRoom(writer);
    const id = writer.newJobId();
    const nowMs = Math.floor(writer.nowMs());
    const table = writer.catalog.table(requested.query.table);
    this.#store(writer, {
      id,
      ...requested,
      state: 'running',
      changed: 0,
      failed: 0,
      errors: [],
      created_at: nowMs,
      updated_at: nowMs,
      to: table === undefined ? 0 : table.number * DOCS_PER_TABLE + table.lastN,
      after: null,
      cause: writer.cause,
    });
    return id;
  }

  /** @throws op.not_found 404 in the write, op.conflict 409 when it has ended */
  cancelled(id: string): (writer: Writer) => Task {
    return writer => {
      const task = found(this.#records.get(writer.db, id), id);
      if (task.state !== 'running') throw conflict(`the task is ${task.state}`);
      const ended = {...task, state: 'cancelled' as const, updated_at: Math.floor(writer.nowMs())};
      this.#end(writer, ended);
      return shown(ended);
    };
  }

  /**
   * Ends a task from outside its run. The run may see this before it is durable, and stop; after a rollback the task
   * must run on.
   */
  #end(writer: Writer, task: TaskRecord): void {
    assert(task.state !== 'running', 'a task that is ended from outside is not running');
    this.#store(writer, task);
    writer.onRollback(() => setImmediate(() => this.wake()));
  }

  /** @param reader durable state. @throws op.not_found 404 */
  get(reader: Connection, id: string): Task {
    return shown(found(this.#records.get(reader, id), id));
  }

  /** Newest first. @throws op.invalid_input 400 when `after` is no cursor */
  list(reader: Connection, request: ListRequest): TaskList {
    const {limit, after} = request;
    if (after !== null && decodeId(after) === null) throw notAListCursor();
    const found = this.#records.newest(reader, rowsRequested(request), after ?? undefined);
    if (limit === null && after === null) return listOf(found.records, found.damaged);
    // One record more than a page shows whether there is a next page.
    const ids = [...found.records.map(({id}) => id), ...found.damaged].sort().reverse();
    const most = rowsRequested(request) - 1;
    const next = ids.length > most ? ids[most - 1]! : null;
    const isIn = (id: string) => next === null || id >= next;
    const tasks = found.records.filter(({id}) => isIn(id));
    return {...listOf(tasks, found.damaged.filter(isIn)), next_cursor: next};
  }

  get hasWork(): boolean {
    return this.#next() !== undefined;
  }

  /** Continues running tasks, unless that is under way. */
  wake(): void {
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    void this.#run().finally(() => {
      this.#isRunning = false;
    });
  }

  /** The tenant is being closed: remaining work continues at the next open. */
  stop(): void {
    this.#isStopped = true;
  }

  #next(): TaskRecord | undefined {
    for (const {id} of this.#running.all) {
      const task = this.#records.sound(this.#writerDb, id);
      if (task !== undefined) return task;
    }
    return undefined;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const task = this.#next();
      if (task === undefined) return;
      const {id, after, query} = task;
      if (task.isCleared === true) {
        await this.#schemas.drop(query.table, writer => this.#endsDrop(writer, id), causeOf(task));
        continue;
      }
      const page = await this.#pageOf(task);
      if (this.#isStopped) return;
      if (page === null) await delay(BACKGROUND_RETRY_MS);
      else {
        const change = (writer: Writer) => this.#slice(writer, id, after, page);
        await this.#background.perform('a task', change, undefined, {cause: causeOf(task)});
      }
    }
  }

  /** Null: not possible now. */
  async #pageOf({query, after}: TaskRecord): Promise<Page | ServiceError | null> {
    const request = {query, page_size: TASK_DOCUMENTS_AT_ONCE, ...(after === null ? {} : {after})};
    try {
      return JSON.parse(await this.#page(request)) as Page;
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      return caught.code.startsWith('session.') ? null : caught;
    }
  }

  #slice(writer: Writer, id: string, after: string | null, page: Page | ServiceError): void {
    const task = this.#records.get(writer.db, id);
    // The task was cancelled, or is already past this page.
    if (task?.state !== 'running' || task.after !== after) return;
    const now = {...task, updated_at: Math.floor(writer.nowMs())};
    if (page instanceof ServiceError) fail(now, '', page);
    else changeAll(writer, now, page);
    this.#store(writer, now);
  }

  /** @returns whether the schema is to be removed too */
  #endsDrop(writer: Writer, id: string): boolean {
    const task = this.#records.get(writer.db, id);
    if (task?.state !== 'running') return false;
    const now = {...task, updated_at: Math.floor(writer.nowMs())};
    endDrop(writer, now);
    this.#store(writer, now);
    return now.state === 'completed';
  }

  /**
   * Deletes the records of the oldest ended tasks; only the ids of the others are read.
   * @throws op.rate_limited 429, op.storage_damaged 503
   */
  #makeRoom(writer: Writer): void {
    const running = this.#running.ids();
    if (running.size >= TASKS_RUNNING_MAX) {
      throw rateLimited(`${TASKS_RUNNING_MAX} tasks wait for their turn; try again later`);
    }
    const ended = this.#records.ids(writer.db).filter(id => !running.has(id));
    let surplus = ended.length + 1 - TASKS_KEPT_MAX;
    for (const id of ended) {
      if (surplus <= 0) return;
      if (this.#records.sound(writer.db, id) === undefined) continue; // damaged ones stay
      this.#records.remove(writer, id);
      surplus--;
    }
  }
}

/** The request that made the task is part of what its writes are caused by. */
function causeOf({id, cause}: TaskRecord): Cause {
  return {...cause, kind: 'task', task_id: id};
}

function changeAll(writer: Writer, task: TaskRecord, {data, next_cursor: next}: Page): void {
  assert(task.state === 'running', 'only a running task changes documents');
  const {query, changes, to} = task;
  const table = writer.catalog.table(query.table);
  const passes = matches(compileFilters(query.filters));
  task.after = next;
  try {
    if (task.type === 'drop' && table !== undefined) refuseDeployed(table);
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    fail(task, '', caught);
    return;
  }
  if (next === null) passed(task);
  for (const {_id: id} of data) {
    try {
      const row = table === undefined ? undefined : writer.document(table, id);
      if (row === undefined || !passes(parseDocument(row))) continue;
      if (row.doc > to) {
        passed(task); // pages are in creation order
        return;
      }
      if (changes === null) writer.delete(table!, row);
      else patchEffect(query.table, id, changes)(writer);
      task.changed++;
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      if (caught.isOurs || !task.skips) {
        fail(task, id, caught);
        return;
      }
      task.failed++;
      describe(task, id, caught);
    }
  }
}

/** Every document that it is to change has been handled. */
function passed(task: TaskRecord): void {
  if (task.type === 'drop') task.isCleared = true;
  else task.state = 'completed';
}

function endDrop(writer: Writer, task: TaskRecord): void {
  assert(task.type === 'drop', `a task of type ${task.type} does not end as a drop`);
  const table = writer.catalog.table(task.query.table);
  try {
    if (table !== undefined) {
      refuseDeployed(table);
      if (hasDocuments(writer, table)) throw writtenMeanwhile(table);
    }
    task.state = 'completed';
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    fail(task, '', caught);
  }
}

function writtenMeanwhile({name}: CatalogTable): ServiceError {
  const message = `documents were made in table ${name} while it was dropped: they are there, and so is its schema; drop it again`;
  return conflict(message);
}

function isUnderWay({id, type, query}: TaskRecord): ServiceError {
  const message = `a task (${type}) works on table ${query.table}: wait for its end, or cancel it`;
  return conflict(message, {task: id});
}

function fail(task: TaskRecord, id: string, error: ServiceError): void {
  assert(task.state !== 'failed' && task.state !== 'cancelled', `a ${task.state} task has ended`);
  task.state = 'failed';
  task.errors = task.errors.slice(0, BULK_ERRORS_SHOWN - 1);
  describe(task, id, error);
}

function describe(task: TaskRecord, id: string, {code, message}: ServiceError): void {
  if (task.errors.length < BULK_ERRORS_SHOWN) {
    task.errors = [...task.errors, {id, code, message: message.slice(0, BULK_ERROR_CHARS)}];
  }
}

function headOf({id, created_at, query}: TaskRecord): RunningTask {
  return {id, created_at, table: query.table};
}

function listOf(records: TaskRecord[], damaged: string[]): TaskList {
  return {tasks: records.map(shown), ...damagedOnes(damaged)};
}

function shown({changes: _, skips: _s, to: _t, after: _a, isCleared: _c, cause: _by, ...task}: TaskRecord): Task {
  return task;
}

function found(task: TaskRecord | undefined, id: string): TaskRecord {
  if (task !== undefined) return task;
  throw notFound(`there is no task ${JSON.stringify(id.slice(0, 140))}`);
}
