/**
 * Setting and deleting table schemas: one table's, over HTTP, or all tables' of a deployment at once. Existing documents are
 * checked first (`document-check.ts`); a change that they violate is refused and changes nothing.
 *
 * A deployment's indexes are filled before it goes live, so its functions never meet one that is building. A native change
 * installs them as `building` and lets queries do without them until they are filled.
 */
import {ServiceError} from '../../shared/errors.ts';
import {INDEX_BUILD_WAIT_DOCUMENTS, SCHEMA_OFFENDERS_SHOWN} from '../../shared/limits.ts';
import type {SchemaDefinition} from '../../shared/protocol/functions.ts';
import type {IndexEntry, TableSchema} from '../../shared/protocol/schema.ts';
import type {CommitGroups, Reply} from '../commit/group.ts';
import type {Writer} from '../commit/writer.ts';
import {checkTableName} from '../documents/table-name.ts';
import {type Catalog, type CatalogTable, catalogIndex, type DeployedTable} from '../storage/catalog.ts';
import type {Reader} from '../storage/reader.ts';
import type {BackFill} from './back-fill.ts';
import {DocumentCheck, type Offender, shownViolation} from './document-check.ts';
import {addIndexes, dropIndexes, install, isSame, missingIndexes} from './install.ts';
import {noSchema} from './read.ts';
import {checkTableSchema, compileSchema} from './validate.ts';

const NO_REPLY: Reply = {status: 204, body: ''};

/** Existing documents do not fit the schema of a deployment: a line for each table. */
export class SchemaMismatch extends Error {
  override name = 'SchemaMismatch';
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines[0] ?? '');
    this.lines = lines;
  }
}

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

  /**
   * @throws op.invalid_input 400; op.conflict 409 for a table of the deployment; op.schema_violation 400 with the first
   * offenders, and nothing is changed
   */
  put(pathTable: string, schema: TableSchema): Promise<Reply> {
    checkTableName(pathTable);
    checkTableSchema(schema, pathTable);
    return this.#inTurn(() => this.#put(schema));
  }

  /** @throws op.invalid_input 400, op.conflict 409, op.not_found 404 when the table has no schema */
  delete(name: string): Promise<Reply> {
    checkTableName(name);
    return this.#inTurn(async () => {
      await this.#groups.perform(writer => {
        const table = this.#catalog.table(name);
        if (table !== undefined) refuseDeployed(table);
        if (table === undefined || table.fields === null) throw noSchema(name);
        install(writer, table, {fields: null, deployed: null}, []);
        writer.event({type: 'schema.deleted', table: name});
      });
      this.#backFill.wake();
      return NO_REPLY;
    });
  }

  /**
   * Makes the schema of a deployment that of the tenant.
   * @param schema null: the deployment has none
   * @param activate what else happens in the write that installs it
   * @throws SchemaMismatch, and nothing is changed
   */
  deploy(schema: SchemaDefinition | null, activate: (writer: Writer) => void): Promise<void> {
    const tables = (schema?.tables ?? []).map(table => ({...table, isChecked: schema!.schemaValidation}));
    return this.#inTurn(() => this.#deploy(tables, activate));
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(change, change);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #put(schema: TableSchema): Promise<Reply> {
    const fields = schema.fields.map(({name, field_type, required}) => ({name, field_type, required}));
    const table = await this.#table(schema.table);
    refuseDeployed(table);
    const check = new DocumentCheck(table, this.#reader, compileSchema({fields}), probes(schema.indexes));
    try {
      refuse(table.name, await check.run());
      await this.#groups.perform(writer => {
        refuse(table.name, check.late(writer));
        install(writer, table, {fields, deployed: null}, schema.indexes);
        writer.event({type: 'schema.set', table: table.name});
      });
    } finally {
      check.stop();
    }
    this.#backFill.wake();
    if (check.documents < INDEX_BUILD_WAIT_DOCUMENTS) await this.#backFill.done(schema.table);
    return NO_REPLY;
  }

  async #deploy(declared: DeployedTable[], activate: (writer: Writer) => void): Promise<void> {
    const checks: DocumentCheck[] = [];
    const built: {table: CatalogTable; missing: IndexEntry[]}[] = [];
    try {
      for (const wanted of declared) {
        const table = await this.#table(wanted.name);
        const missing = missingIndexes(table, wanted.indexes);
        if (missing.length > 0) built.push({table, missing});
        if (missing.length === 0 && isUnchanged(table.deployed, wanted)) continue;
        const compiled = this.#catalog.compileDeployed(wanted) ?? (() => null);
        checks.push(new DocumentCheck(table, this.#reader, compiled, probes(missing)));
      }
      await allMatch(checks, 'Document', check => check.run());
      await this.#build(built);
      await allMatch(checks, 'New document', check => check.catchUp());
      await this.#activate(declared, checks, activate);
    } catch (caught) {
      await this.#groups.perform(writer => {
        for (const {table, missing} of built)
          dropIndexes(writer, table, index => missing.some(entry => isSame(index, entry)));
      });
      throw caught;
    } finally {
      for (const check of checks) check.stop();
      this.#backFill.wake();
    }
  }

  /** Fills the indexes that are missing, while everything goes on as before. */
  async #build(built: {table: CatalogTable; missing: IndexEntry[]}[]): Promise<void> {
    if (built.length === 0) return;
    await this.#groups.perform(writer => {
      for (const {table, missing} of built) addIndexes(writer, table, missing);
    });
    this.#backFill.wake();
    for (const {table} of built) {
      await this.#backFill.done(table.name);
      if (!table.indexes.some(index => index.state === 'building')) continue;
      throw new ServiceError('session.worker_unavailable', 'the tenant was closed while indexes were being built');
    }
  }

  async #activate(
    declared: DeployedTable[],
    checks: DocumentCheck[],
    activate: (writer: Writer) => void,
  ): Promise<void> {
    let refused: SchemaMismatch | null = null;
    await this.#groups.perform(writer => {
      refused = lateMismatch(writer, checks);
      if (refused !== null) return; // nothing was done yet, so there is nothing to take back
      const names = new Set(declared.map(table => table.name));
      for (const table of this.#catalog.tables()) {
        if (table.deployed === null || names.has(table.name)) continue;
        install(writer, table, {fields: null, deployed: null}, []);
        writer.event({type: 'schema.deleted', table: table.name});
      }
      for (const wanted of declared) {
        const table = this.#catalog.table(wanted.name)!;
        if (JSON.stringify(table.deployed) === JSON.stringify(wanted)) continue;
        install(writer, table, {fields: null, deployed: wanted}, wanted.indexes);
        writer.event({type: 'schema.set', table: table.name});
      }
      activate(writer);
    });
    if (refused !== null) throw refused;
  }

  async #table(name: string): Promise<CatalogTable> {
    return this.#catalog.table(name) ?? (await this.#groups.perform(writer => writer.table(name)));
  }
}

function probes(indexes: readonly IndexEntry[]) {
  return indexes.map(index => catalogIndex(0, index.name, index.fields, 'building', 0));
}

/** The documents that fitted then fit now. */
function isUnchanged(before: DeployedTable | null, after: DeployedTable): boolean {
  if (before === null) return false;
  return before.isChecked === after.isChecked && JSON.stringify(before.document) === JSON.stringify(after.document);
}

function refuseDeployed(table: CatalogTable): void {
  if (table.deployed === null) return;
  throw new ServiceError(
    'op.conflict',
    `table ${table.name} belongs to the schema of the active deployment; change svc/schema.ts and deploy`,
  );
}

function refuse(table: string, found: Offender[]): void {
  if (found.length === 0) return;
  throw new ServiceError(
    'op.schema_violation',
    `table ${table} has documents that violate this schema: in ${found[0]!.id}, ${shownViolation(found[0]!)}`,
    {table, offenders: found.slice(0, SCHEMA_OFFENDERS_SHOWN)},
  );
}

/** @throws SchemaMismatch with a line for every table that does not match */
async function allMatch(
  checks: DocumentCheck[],
  what: 'Document' | 'New document',
  run: (check: DocumentCheck) => Promise<Offender[]>,
): Promise<void> {
  const lines: string[] = [];
  for (const check of checks) {
    const [first] = await run(check);
    if (first !== undefined) lines.push(mismatchLine(check.table.name, first, what));
  }
  if (lines.length > 0) throw new SchemaMismatch(lines);
}

function lateMismatch(writer: Writer, checks: DocumentCheck[]): SchemaMismatch | null {
  const lines: string[] = [];
  for (const check of checks) {
    const [first] = check.late(writer);
    if (first !== undefined) lines.push(mismatchLine(check.table.name, first, 'New document'));
  }
  return lines.length === 0 ? null : new SchemaMismatch(lines);
}

function mismatchLine(table: string, offender: Offender, what: 'Document' | 'New document'): string {
  const which = what === 'Document' ? ` with ID "${offender.id}"` : '';
  return `${what}${which} in table "${table}" does not match the schema: ${shownViolation(offender)}`;
}
