/**
 * Sets and deletes table schemas: one table's, over HTTP, or all tables' of a deployment (`deploy.ts`). Existing
 * documents are checked first (`document-check.ts`); a change that they violate is refused and changes nothing. Changes
 * run one after another.
 *
 * A native change installs its indexes as `building`, and queries do not use them until they are filled.
 */
import {invalid, ServiceError} from '../../shared/errors.ts';
import type {SchemaDefinition} from '../../shared/protocol/functions.ts';
import type {TableSchema} from '../../shared/protocol/schema.ts';
import type {BackgroundWrites} from '../commit/background.ts';
import type {Cause} from '../commit/cause.ts';
import type {CommitGroups} from '../commit/group.ts';
import type {Writer} from '../commit/writer.ts';
import {INDEX_BUILD_WAIT_DOCUMENTS, SCHEMA_OFFENDERS_SHOWN} from '../limits.ts';
import {jobMadeSince, jobOfTable} from '../scheduler/named-tables.ts';
import type {Catalog, CatalogTable} from '../storage/catalog.ts';
import {checkTableName} from '../storage/document.ts';
import type {Reader} from '../storage/reader.ts';
import {checkTableSchema, compileSchema} from '../storage/table-check.ts';
import type {BackFill} from './back-fill.ts';
import {type IndexBuild, SchemaDeploys} from './deploy.ts';
import {DocumentCheck, shownViolation} from './document-check.ts';
import type {Offender} from './duplicate-check.ts';
import {install, probes} from './install.ts';
import {noSchema, refuseDeployed, schemaEvent} from './read.ts';
import {renameTable} from './rename.ts';

export class SchemaChanges {
  readonly #catalog: Catalog;
  readonly #reader: Reader;
  readonly #groups: CommitGroups;
  readonly #background: BackgroundWrites;
  readonly #backFill: BackFill;
  readonly #deploys: SchemaDeploys;
  /** Changes run one after another: each sees the schema that the previous one left. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(writer: Writer, reader: Reader, groups: CommitGroups, background: BackgroundWrites, backFill: BackFill) {
    this.#catalog = writer.catalog;
    this.#reader = reader;
    this.#groups = groups;
    this.#background = background;
    this.#backFill = backFill;
    this.#deploys = new SchemaDeploys(writer, reader, groups, background, backFill);
  }

  /** Runs when the tenant opens: removes the rest of a deploy that a crash interrupted. */
  resume(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#deploys.dropUnfinished();
      this.#backFill.wake();
    });
  }

  /**
   * @throws op.invalid_input 400; op.conflict 409 for a table of the deployment; op.schema_violation 400 with the first
   *   offenders, and nothing is changed
   * @param also other changes in the write that installs it
   */
  put(
    pathTable: string,
    schema: TableSchema,
    also: (writer: Writer) => void = () => undefined,
    cause?: Cause,
  ): Promise<void> {
    checkTableName(pathTable);
    checkTableSchema(schema, pathTable);
    return this.#inTurn(() => this.#put(schema, also, cause));
  }

  /** @throws op.invalid_input 400, op.conflict 409, op.not_found 404 when the table has no schema */
  delete(name: string, cause?: Cause): Promise<void> {
    checkTableName(name);
    return this.#inTurn(async () => {
      await this.#groups.perform(writer => {
        const table = this.#catalog.table(name);
        if (table !== undefined) refuseDeployed(table);
        if (table === undefined || table.fields === null) throw noSchema(name);
        remove(writer, table);
      }, cause);
      this.#backFill.wake();
    });
  }

  /**
   * Removes a table that was emptied: resolves when that is on disk, like a background write.
   * @param isToGo whether its schema is removed; called in the write, and its own writes are in the same commit
   */
  drop(name: string, isToGo: (writer: Writer) => boolean, cause: Cause): Promise<void> {
    return this.#inTurn(async () => {
      const change = (writer: Writer): void => {
        if (!isToGo(writer)) return;
        const table = this.#catalog.table(name);
        if (table !== undefined && table.fields !== null) remove(writer, table);
      };
      await this.#background.perform('a task', change, undefined, {cause});
      this.#backFill.wake();
    });
  }

  /**
   * Renames a table.
   * @param write makes the change in a write; anything it does before is in the same commit
   * @throws op.invalid_input 400; rejections of `write`: op.not_found 404, op.conflict 409
   */
  rename(table: string, to: string, write: (change: (writer: Writer) => void) => Promise<void>): Promise<void> {
    checkTableName(table);
    checkTableName(to);
    if (table === to) throw invalid(`table ${table} has this name`);
    return this.#inTurn(async () => {
      const read = await jobOfTable(this.#reader, table);
      await write(writer => {
        const job = read.job ?? jobMadeSince(writer.db, table, read);
        renameTable(writer, {table, to, job});
      });
    });
  }

  /**
   * Makes the schema of a deployment that of the tenant.
   * @param schema null: the deployment has none
   * @param activate other changes in the write that installs it
   * @throws SchemaMismatch, and nothing is changed
   */
  deploy(schema: SchemaDefinition | null, activate: (writer: Writer) => void, cause: Cause): Promise<void> {
    return this.#inTurn(() => this.#deploys.deploy(schema, activate, cause));
  }

  /**
   * Whether a deployment's schema could be installed now.
   * @returns the indexes that would be filled
   * @throws SchemaMismatch
   */
  check(schema: SchemaDefinition | null): Promise<IndexBuild[]> {
    return this.#inTurn(() => this.#deploys.check(schema));
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    // From here on the catalog that it reads is durable: nothing else changes schemas.
    const begin = () => this.#groups.settled().then(change);
    const turn = this.#last.then(begin, begin);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #put(schema: TableSchema, also: (writer: Writer) => void, cause?: Cause): Promise<void> {
    const fields = schema.fields.map(({name, field_type, required}) => ({name, field_type, required}));
    const table = await this.#table(schema.table);
    refuseDeployed(table);
    const check = new DocumentCheck(table, this.#reader, this.#groups, compileSchema({fields}), probes(schema.indexes));
    try {
      refuse(table.name, await check.run());
      await this.#groups.perform(writer => {
        refuse(table.name, check.late(writer));
        install(writer, table, {fields, deployed: null}, schema.indexes);
        schemaEvent(writer, table);
        also(writer);
      }, cause);
    } finally {
      check.stop();
    }
    this.#backFill.wake();
    if (check.documents >= INDEX_BUILD_WAIT_DOCUMENTS) return;
    await this.#backFill.done(schema.table);
    await this.#groups.settled();
  }

  /** Returns only a durable table: one that the current group created may be rolled back with it. */
  #table(name: string): Promise<CatalogTable> {
    return this.#groups.perform(writer => writer.table(name));
  }
}

function remove(writer: Writer, table: CatalogTable): void {
  install(writer, table, {fields: null, deployed: null}, []);
  writer.event({type: 'schema.deleted', table: table.name});
}

function refuse(table: string, found: Offender[]): void {
  if (found.length === 0) return;
  throw new ServiceError(
    'op.schema_violation',
    `table ${table} has documents that violate this schema: in ${found[0]!.id}, ${shownViolation(found[0]!)}`,
    {table, offenders: found.slice(0, SCHEMA_OFFENDERS_SHOWN)},
  );
}
