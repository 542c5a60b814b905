/**
 * The imports of a tenant. An import with an id has a record, written with its lines: after an interrupted request,
 * another one continues after the last stored line. The newest request owns the import, because an interrupted one may
 * not have noticed yet.
 */
import type {Buffer} from 'node:buffer';
import type {Cause} from '../../../../engine/commit/cause.ts';
import type {CommitGroups} from '../../../../engine/commit/group.ts';
import type {Writer} from '../../../../engine/commit/writer.ts';
import type {Catalog} from '../../../../engine/storage/catalog.ts';
import type {Connection} from '../../../../engine/storage/connection.ts';
import {checkTableName} from '../../../../engine/storage/document.ts';
import {assert} from '../../../../shared/assert.ts';
import {conflict, invalid, notFound, overloaded, rateLimited, ServiceError} from '../../../../shared/errors.ts';
import {IMPORT_KEEP_MS} from '../../../../shared/limits.ts';
import {isPrintableName} from '../../../../shared/printable-name.ts';
import type {
  CellRule,
  ImportList,
  ImportMode,
  ImportQuery,
  ImportRecord,
  ImportResult,
} from '../../../../shared/protocol/imports.ts';
import {IMPORTS_AT_ONCE_MAX, IMPORTS_KEPT_MAX} from '../../limits.ts';
import {BulkRecords, damagedOnes} from '../bulk-records.ts';
import type {ImportLine, LineTarget} from './import-line.ts';
import {ImportRun} from './import-run.ts';
import {jsonLines} from './json-lines.ts';

export type ImportBody = {
  /** Media type in lower case, without parameters. */
  readonly type: string;
  /** Ends when its reader stops. */
  readonly chunks: AsyncGenerator<Buffer, void, void>;
  /** No more input is wanted. */
  cancel(): void;
};
type UnderWay = {run: ImportRun | null; table: string | null; mode: ImportMode; cancel: () => void};

/** Callbacks for schemas that arrive with lines. */
export type RestoredSchemas = {
  /** Called in the write that installs one. */
  set: (writer: Writer, table: string) => void;
  /** Called when some may have been installed. */
  wake: () => void;
};

const MEDIA_TYPES = ['application/x-ndjson', 'text/csv'];

export class Imports {
  readonly #groups: CommitGroups;
  readonly #reader: Connection;
  readonly #catalog: Catalog;
  readonly #schemas: RestoredSchemas;
  readonly #records = new BulkRecords<ImportRecord>('import');
  readonly #underWay = new Set<UnderWay>();
  readonly #named = new Map<string, UnderWay>();

  /** @param reader durable state. @param catalog the writer's */
  constructor(groups: CommitGroups, reader: Connection, catalog: Catalog, schemas: RestoredSchemas) {
    this.#schemas = schemas;
    this.#groups = groups;
    this.#reader = reader;
    this.#catalog = catalog;
  }

  /** @throws op.not_found 404 */
  get(id: string): ImportRecord {
    const found = this.#records.get(this.#reader, id);
    if (found !== undefined) return found;
    throw notFound(`there is no import ${JSON.stringify(id.slice(0, 140))}`);
  }

  /** Newest first. */
  list(): ImportList {
    const {records, damaged} = this.#records.all(this.#reader);
    return {imports: records.sort((a, b) => b.created_at - a.created_at), ...damagedOnes(damaged)};
  }

  /**
   * @throws op.invalid_input 400, op.unsupported_media_type 415, op.conflict 409, the error of a refused line, with the
   *   line
   */
  async take(query: ImportQuery, body: ImportBody, cause: Cause): Promise<ImportResult> {
    check(query, body.type);
    const known = query.import_id === undefined ? undefined : this.#named.get(query.import_id);
    if (known === undefined && this.#underWay.size >= IMPORTS_AT_ONCE_MAX) {
      throw overloaded(`${IMPORTS_AT_ONCE_MAX} imports are under way; try again later`);
    }
    const {table = null, mode = 'insert'} = query;
    // A request that does not match the import must not interrupt it.
    if (known !== undefined) checkSame(query.import_id!, known, {table, mode});
    const mine: UnderWay = {run: null, table, mode, cancel: () => body.cancel()};
    this.#underWay.add(mine);
    try {
      return await this.#take(query, body, mine, {known, cause: {...cause, import_id: query.import_id}});
    } finally {
      body.cancel();
      const wasUnderWay = this.#underWay.delete(mine);
      assert(wasUnderWay, 'a request of an import ends once');
      if (mode === 'restore') this.#schemas.wake();
      if (query.import_id !== undefined && this.#named.get(query.import_id) === mine) {
        this.#named.delete(query.import_id);
      }
    }
  }

  /** @throws op.conflict 409 while lines of one arrive for these tables, or lines that each name a table */
  refuseUnderWay(tables: readonly string[]): void {
    for (const {table} of this.#underWay) {
      if (table !== null && !tables.includes(table)) continue;
      const which = table === null ? 'whose lines name their tables' : `into table ${table}`;
      throw conflict(`an import ${which} is under way: wait for its end`);
    }
  }

  async #take(
    query: ImportQuery,
    body: ImportBody,
    mine: UnderWay,
    {known, cause}: {known: UnderWay | undefined; cause: Cause},
  ): Promise<ImportResult> {
    const {import_id: id, on_error: onError = 'stop'} = query;
    const stopsAtErrors = onError === 'stop';
    assert(mine.run === null, 'a request of an import has one run');
    if (id === undefined) {
      mine.run = new ImportRun(this.#groups, {stopsAtErrors, cause, store: () => undefined});
      return await mine.run.take(this.#lines(query, body, 1));
    }
    this.#named.set(id, mine);
    known?.run?.giveUp();
    known?.cancel();
    // Runs after the queued writes of the other request, which are refused by now.
    const record = await this.#groups.perform(writer => this.#begun(writer, id, query));
    if (this.#named.get(id) !== mine) throw conflict('another request goes on with this import');
    const {lines, inserted, updated, failed, errors} = record;
    const {first_line: first = 1} = query;
    if (first > lines + 1) {
      const message = `lines up to ${lines} of this import are in: first_line is ${lines + 1} at most`;
      throw conflict(message, {import: {lines, inserted, updated, failed, errors}});
    }
    const store = (writer: Writer, made: ImportResult, isComplete: boolean) =>
      this.#records.put(writer, id, {
        ...record,
        ...made,
        state: isComplete ? 'complete' : 'open',
        updated_at: Math.floor(writer.nowMs()),
      });
    mine.run = new ImportRun(this.#groups, {stopsAtErrors, cause, store}, {lines, inserted, updated, failed, errors});
    return await mine.run.take(this.#lines(query, body, lines + 1));
  }

  /** Its record, which is created if there is none. */
  #begun(writer: Writer, id: string, query: ImportQuery): ImportRecord {
    const table = query.table ?? null;
    const {mode = 'insert'} = query;
    const known = this.#records.get(writer.db, id);
    const nowMs = Math.floor(writer.nowMs());
    if (known !== undefined) {
      checkSame(id, known, {table, mode});
      return known;
    }
    this.#forgetOld(writer);
    const none = {lines: 0, inserted: 0, updated: 0, failed: 0, errors: []};
    const record: ImportRecord = {
      import_id: id,
      state: 'open',
      table,
      mode,
      ...none,
      created_at: nowMs,
      updated_at: nowMs,
    };
    this.#records.put(writer, id, record);
    return record;
  }

  /** @throws op.rate_limited 429 when it would have to delete one that can still be continued */
  #forgetOld(writer: Writer): void {
    const {records: kept} = this.#records.all(writer.db);
    const old = kept.filter(record => record.updated_at < writer.ageMs - IMPORT_KEEP_MS);
    for (const {import_id: id} of old) this.#records.remove(writer, id);
    if (kept.length - old.length < IMPORTS_KEPT_MAX) return;
    const message = `${IMPORTS_KEPT_MAX} imports of the last 24 hours are remembered; go on with one of them, or import without import_id`;
    throw rateLimited(message);
  }

  #lines(query: ImportQuery, {type, chunks}: ImportBody, from: number): AsyncIterable<Iterable<ImportLine>> {
    const {table, mode = 'insert', cells = 'schema', first_line: first = 1} = query;
    const target = {table: table ?? null, mode, schemaSet: this.#schemas.set};
    if (type !== 'text/csv') return jsonLines(chunks, target, first, from);
    return this.#csvRows(chunks, target, cells, from);
  }

  /** The CSV parser is loaded on first use. */
  async *#csvRows(
    chunks: AsyncIterable<Buffer>,
    target: LineTarget,
    cells: CellRule,
    from: number,
  ): AsyncGenerator<Iterable<ImportLine>, void, void> {
    const {csvRows} = await import('./csv-rows.ts');
    yield* csvRows(chunks, target, cells === 'json' ? 'json' : (this.#catalog.table(target.table!) ?? null), from);
  }
}

type What = Pick<ImportRecord, 'table' | 'mode'>;

/** @throws op.conflict 409 */
function checkSame(id: string, begun: What, requested: What): void {
  if (begun.table === requested.table && begun.mode === requested.mode) return;
  const said = `table ${begun.table ?? 'named in each line'} and mode=${begun.mode}`;
  throw conflict(`the import ${JSON.stringify(id)} was begun with ${said}`);
}

function check({table, cells, import_id: id, first_line: first}: ImportQuery, type: string): void {
  if (!MEDIA_TYPES.includes(type)) {
    throw new ServiceError('op.unsupported_media_type', `the Content-Type of an import is ${MEDIA_TYPES.join(' or ')}`);
  }
  if (table !== undefined) checkTableName(table);
  else if (type === 'text/csv')
    throw invalid('an import of CSV names its table in the query string, like ?table=cities');
  if (cells !== undefined && type !== 'text/csv')
    throw invalid('the parameter cells is of CSV: Content-Type: text/csv');
  if (id !== undefined && !isPrintableName(id)) {
    throw invalid('import_id has printable characters without /, and is not . or ..');
  }
  if (first === undefined) return;
  if (id === undefined) throw invalid('first_line goes on with an import: it needs its import_id');
  if (type === 'text/csv' && first > 1) {
    throw invalid('CSV begins with its header: send all of it, and the lines that are in are passed over');
  }
}
