/**
 * Setting and deleting a table's schema.
 *
 * Setting one first checks the documents that are there, in slices between which the tenant goes on serving; documents
 * written meanwhile are noted and checked last, inside the group that installs the schema. So no write is ever held up, and
 * no document that violates the schema can slip in between.
 *
 * Indexes whose name and fields stay the same are kept as they are. New ones start as `building` (empty tables: `enabled`)
 * and are filled by `back-fill.ts`; dropped ones become `dropping`.
 */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {ServiceError} from '../../shared/errors.ts';
import {INDEX_BUILD_WAIT_DOCUMENTS, SCHEMA_OFFENDERS_SHOWN, SLICE_MS} from '../../shared/limits.ts';
import type {FieldEntry, TableSchema} from '../../shared/protocol/schema.ts';
import type {CommitGroups, Reply} from '../commit/group.ts';
import {type Fields, indexKey, type Writer} from '../commit/writer.ts';
import {checkTableName} from '../documents/table-name.ts';
import type {DocumentRow} from '../queries/reader.ts';
import {type Catalog, type CatalogIndex, type CatalogTable, catalogIndex, refreshInfo} from '../storage/catalog.ts';
import type {Reader} from '../storage/reader.ts';
import type {BackFill} from './back-fill.ts';
import {noSchema} from './read.ts';
import {type CompiledSchema, checkTableSchema, compileSchema} from './validate.ts';

/** Documents written during a check that may be checked inside the installing group; more are checked before it. */
const LATE_DOCUMENTS_MAX = 200;
const ROWS_AT_ONCE = 100;
const NO_REPLY: Reply = {status: 204, body: ''};

type Offender = {id: string; field: string; expected: string; found: string};

export class SchemaChanges {
  readonly #catalog: Catalog;
  readonly #reader: Reader;
  readonly #groups: CommitGroups;
  readonly #backFill: BackFill;
  /** Changes run one after another: each sees the schema that the one before left. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(catalog: Catalog, reader: Reader, groups: CommitGroups, backFill: BackFill) {
    this.#catalog = catalog;
    this.#reader = reader;
    this.#groups = groups;
    this.#backFill = backFill;
  }

  /** @throws op.invalid_input 400; op.schema_violation 400 with the first offenders, and nothing is changed */
  put(pathTable: string, schema: TableSchema): Promise<Reply> {
    checkTableName(pathTable);
    checkTableSchema(schema, pathTable);
    return this.#inTurn(() => this.#put(schema));
  }

  /** @throws op.invalid_input 400, op.not_found 404 when the table has no schema */
  delete(name: string): Promise<Reply> {
    checkTableName(name);
    return this.#inTurn(async () => {
      await this.#groups.perform(writer => {
        const table = this.#catalog.table(name);
        if (table === undefined || table.fields === null) throw noSchema(name);
        install(writer, table, null, []);
        writer.event({type: 'schema.deleted', table: name});
      });
      this.#backFill.wake();
      return NO_REPLY;
    });
  }

  #inTurn(change: () => Promise<Reply>): Promise<Reply> {
    const turn = this.#last.then(change, change);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #put(schema: TableSchema): Promise<Reply> {
    const fields = schema.fields.map(({name, field_type, required}) => ({name, field_type, required}));
    const compiled = compileSchema({fields});
    const written = new Set<number>();
    const probes = schema.indexes.map(index => catalogIndex(0, index.name, index.fields, 'building', 0));
    const table =
      this.#catalog.table(schema.table) ?? (await this.#groups.perform(writer => writer.table(schema.table)));
    let documents = 0;
    table.watchers.add(written);
    try {
      documents = await this.#checkAll(table, compiled, probes);
      await this.#checkWritten(table, written, compiled, probes);
      await this.#groups.perform(writer => {
        for (const doc of written) {
          const row = writer.statements.documentByDoc.get(doc);
          if (row !== undefined) refuse(table.name, offenders([row], compiled, probes));
        }
        install(writer, table, fields, schema.indexes);
        writer.event({type: 'schema.set', table: table.name});
      });
    } finally {
      table.watchers.delete(written);
    }
    this.#backFill.wake();
    if (documents < INDEX_BUILD_WAIT_DOCUMENTS) await this.#backFill.done(schema.table);
    return NO_REPLY;
  }

  /** Checks the table's documents in slices; returns how many there are. */
  async #checkAll(table: CatalogTable, compiled: CompiledSchema, probes: CatalogIndex[]): Promise<number> {
    let seen = 0;
    let from = table.info.lowDoc;
    const found: Offender[] = [];
    for (;;) {
      const sliceEnds = performance.now() + SLICE_MS;
      do {
        const rows = this.#reader.documents(from, table.info.highDoc, false, ROWS_AT_ONCE);
        found.push(...offenders(rows, compiled, probes));
        seen += rows.length;
        if (rows.length < ROWS_AT_ONCE || found.length >= SCHEMA_OFFENDERS_SHOWN) {
          refuse(table.name, found);
          return seen;
        }
        from = rows.at(-1)!.doc + 1;
      } while (performance.now() < sliceEnds);
      await nextTurn();
    }
  }

  /** Checks what was written meanwhile until so little is left that the installing group can do it. */
  async #checkWritten(
    table: CatalogTable,
    written: Set<number>,
    compiled: CompiledSchema,
    probes: CatalogIndex[],
  ): Promise<void> {
    while (written.size > LATE_DOCUMENTS_MAX) {
      const batch = [...written].slice(0, ROWS_AT_ONCE);
      for (const doc of batch) {
        written.delete(doc);
        refuse(table.name, offenders(this.#reader.documents(doc, doc, false, 1), compiled, probes));
      }
      await nextTurn();
    }
  }
}

function offenders(rows: DocumentRow[], compiled: CompiledSchema, probes: CatalogIndex[]): Offender[] {
  const found: Offender[] = [];
  for (const row of rows) {
    const fields = JSON.parse(row.body) as Fields;
    const violation = compiled(fields as never) ?? longKey(fields, probes);
    if (violation !== null) found.push({id: row.id, ...violation});
  }
  return found;
}

/** A value too long for one of the new indexes would make the back-fill fail later. */
function longKey(fields: Fields, probes: CatalogIndex[]): Omit<Offender, 'id'> | null {
  for (const index of probes) {
    try {
      indexKey(index, fields);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      return {field: index.fields.join(', '), expected: `short enough for index ${index.name}`, found: caught.message};
    }
  }
  return null;
}

function refuse(table: string, found: Offender[]): void {
  if (found.length === 0) return;
  const {id, field, expected, found: value} = found[0]!;
  throw new ServiceError(
    'op.schema_violation',
    `table ${table} has documents that violate this schema: in ${id}, field ${JSON.stringify(field)} must be ${expected}, found ${value}`,
    {table, offenders: found.slice(0, SCHEMA_OFFENDERS_SHOWN)},
  );
}

/** Puts schema and index rows in place, in file and memory; both are taken back if the group is. */
function install(
  writer: Writer,
  table: CatalogTable,
  fields: FieldEntry[] | null,
  wanted: {name: string; fields: string[]}[],
): void {
  const before = {fields: table.fields, compiled: table.compiled, indexes: table.indexes.map(index => ({...index}))};
  writer.onRollback(() => {
    Object.assign(table, before);
    refreshInfo(table);
  });
  table.fields = fields;
  table.compiled = fields === null ? null : compileSchema({fields});
  writer.statements.updateTableFields.run(fields === null ? null : JSON.stringify(fields), table.number);
  const kept = new Set<CatalogIndex>();
  const added: CatalogIndex[] = [];
  for (const {name, fields: paths} of wanted) {
    const same = table.indexes.find(
      index => index.state !== 'dropping' && index.name === name && index.fields.join('\n') === paths.join('\n'),
    );
    if (same === undefined) {
      added.push(
        catalogIndex(writer.catalog.nextIndexNumber(), name, paths, table.lastN === 0 ? 'enabled' : 'building', 0),
      );
    } else kept.add(same);
  }
  for (const index of table.indexes) {
    if (kept.has(index) || index.state === 'dropping') continue;
    index.state = 'dropping';
    writer.statements.updateIndex.run('dropping', 0, index.number);
  }
  for (const index of added) {
    const {number, name, fields: paths, state} = index;
    writer.statements.insertIndex.run(number, table.number, name, JSON.stringify(paths), state, 0);
  }
  table.indexes = [...table.indexes, ...added];
  refreshInfo(table);
}
