/**
 * Installs the schema of a deployment as the tenant's, all tables at once. Documents are checked and missing indexes
 * are filled first, while the tenant keeps serving; then one write installs everything. A refused schema changes
 * nothing.
 *
 * Indexes that are being filled are stored in the file: if the worker ends before the deployment is active, the next
 * worker removes them. A failed deploy removes them too, at once or, on a full disk, as soon as there is space.
 */
import {unavailable} from '../../shared/errors.ts';
import type {SchemaDefinition} from '../../shared/protocol/functions.ts';
import type {IndexEntry} from '../../shared/protocol/schema.ts';
import type {BackgroundWrites} from '../commit/background.ts';
import type {Cause} from '../commit/cause.ts';
import type {CommitGroups} from '../commit/group.ts';
import type {Writer} from '../commit/writer.ts';
import type {Catalog, CatalogTable, DeployedTable} from '../storage/catalog.ts';
import {storageFullError} from '../storage/database.ts';
import type {Reader} from '../storage/reader.ts';
import type {BackFill} from './back-fill.ts';
import {DocumentCheck, shownViolation} from './document-check.ts';
import type {Offender} from './duplicate-check.ts';
import {addIndexes, dropIndexes, install, isSame, missingIndexes, probes} from './install.ts';
import {schemaEvent} from './read.ts';

/** JSON array of the numbers of indexes that belong to a deployment which is not active yet. */
const UNFINISHED_KEY = 'unfinished_indexes';

/** Existing documents do not fit the schema of a deployment: one line per table. */
export class SchemaMismatch extends Error {
  override name = 'SchemaMismatch';
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines[0] ?? '');
    this.lines = lines;
  }
}

/** An index to fill, and the documents of its table. */
export type IndexBuild = {table: string; name: string; fields: string[]; documents: number};
type Missing = {table: CatalogTable; missing: IndexEntry[]};
type CheckedDocument = 'Document' | 'New document';

export class SchemaDeploys {
  readonly #writer: Writer;
  readonly #catalog: Catalog;
  readonly #reader: Reader;
  readonly #groups: CommitGroups;
  readonly #background: BackgroundWrites;
  readonly #backFill: BackFill;

  constructor(writer: Writer, reader: Reader, groups: CommitGroups, background: BackgroundWrites, backFill: BackFill) {
    this.#writer = writer;
    this.#catalog = writer.catalog;
    this.#reader = reader;
    this.#groups = groups;
    this.#background = background;
    this.#backFill = backFill;
  }

  /**
   * Whether existing documents fit; changes nothing.
   * @returns the indexes that a deploy would fill
   * @throws SchemaMismatch
   */
  async check(schema: SchemaDefinition | null): Promise<IndexBuild[]> {
    const checks: DocumentCheck[] = [];
    const builds: {missing: IndexEntry[]; check: DocumentCheck}[] = [];
    try {
      for (const wanted of declaredTables(schema)) {
        const table = this.#catalog.table(wanted.name);
        if (table === undefined) continue;
        const missing = this.#addCheck(checks, table, wanted);
        if (missing.length > 0) builds.push({missing, check: checks.at(-1)!});
      }
      await allMatch(checks, 'Document', check => check.run());
      return builds.flatMap(({missing, check}) =>
        missing.map(({name, fields}) => ({table: check.table.name, name, fields, documents: check.documents})),
      );
    } finally {
      for (const check of checks) check.stop();
    }
  }

  /**
   * @param activate other changes in the write that installs it
   * @throws SchemaMismatch, and nothing is changed; session.storage_full 507
   */
  async deploy(schema: SchemaDefinition | null, activate: (writer: Writer) => void, cause: Cause): Promise<void> {
    const declared = declaredTables(schema);
    const checks: DocumentCheck[] = [];
    const built: Missing[] = [];
    // The rest of an earlier deploy that could not be removed yet: this deploy fails for the same reason.
    if (this.#unfinished().length > 0) await this.#groups.perform(writer => this.#drop(writer, this.#unfinished()));
    try {
      for (const wanted of declared) {
        const table = await this.#table(wanted.name);
        const missing = this.#addCheck(checks, table, wanted);
        if (missing.length > 0) built.push({table, missing});
      }
      await allMatch(checks, 'Document', check => check.run());
      await this.#build(built, cause);
      await allMatch(checks, 'New document', check => check.catchUp());
      await this.#install(declared, checks, activate, cause);
    } catch (caught) {
      if (!this.#backFill.isStopped) await this.dropUnfinished(); // otherwise the next open does it
      throw caught;
    } finally {
      for (const check of checks) check.stop();
      this.#backFill.wake();
    }
  }

  /** Removes what an unfinished deploy left. Resolves when that is on disk, or postponed. */
  dropUnfinished(): Promise<void> {
    // Exactly these: by the time this succeeds, another deploy may be filling its own indexes.
    const numbers = this.#unfinished();
    if (numbers.length === 0) return Promise.resolve();
    return new Promise(resolve => {
      void this.#background
        .perform('the clean-up after a deploy', writer => this.#drop(writer, numbers), resolve)
        .then(() => {
          resolve();
          this.#backFill.wake();
        });
    });
  }

  #unfinished(): number[] {
    return JSON.parse(String(this.#writer.statements.meta.get(UNFINISHED_KEY) ?? '[]')) as number[];
  }

  #drop(writer: Writer, numbers: readonly number[]): void {
    for (const table of this.#catalog.tables()) {
      if (!table.indexes.some(({number}) => numbers.includes(number))) continue;
      dropIndexes(writer, table, ({number}) => numbers.includes(number));
      schemaEvent(writer, table);
    }
    const left = this.#unfinished().filter(number => !numbers.includes(number));
    note(writer, left);
  }

  /** Checks the table unless its documents are known to fit. @returns its missing indexes */
  #addCheck(checks: DocumentCheck[], table: CatalogTable, wanted: DeployedTable): IndexEntry[] {
    const missing = missingIndexes(table, wanted.indexes);
    if (missing.length === 0 && isUnchanged(table.deployed, wanted)) return missing;
    const compiled = this.#catalog.compileDeployed(wanted) ?? (() => null);
    checks.push(new DocumentCheck(table, this.#reader, this.#groups, compiled, probes(missing)));
    return missing;
  }

  /** Fills the missing indexes while the tenant keeps serving. */
  async #build(built: Missing[], cause: Cause): Promise<void> {
    if (built.length === 0) return;
    await this.#groups.perform(writer => {
      const numbers: number[] = [];
      for (const {table, missing} of built) {
        addIndexes(writer, table, missing);
        schemaEvent(writer, table);
        const added = table.indexes.filter(
          index => index.state !== 'dropping' && missing.some(entry => isSame(index, entry)),
        );
        numbers.push(...added.map(({number}) => number));
      }
      note(writer, numbers);
    }, cause);
    this.#backFill.wake();
    for (const {table} of built) {
      await this.#backFill.done(table.name);
      if (!table.indexes.some(index => index.state === 'building')) continue;
      if (!this.#backFill.isStopped) throw storageFullError();
      throw unavailable('the tenant was closed while indexes were being built');
    }
  }

  async #install(
    declared: DeployedTable[],
    checks: DocumentCheck[],
    activate: (writer: Writer) => void,
    cause: Cause,
  ): Promise<void> {
    let refused: SchemaMismatch | null = null;
    await this.#groups.perform(writer => {
      refused = lateMismatch(writer, checks);
      if (refused !== null) return; // nothing was changed yet, so there is nothing to undo
      this.#dropSchemas(writer, new Set(declared.map(table => table.name)));
      for (const wanted of declared) {
        const table = this.#catalog.table(wanted.name)!;
        if (JSON.stringify(table.deployed) === JSON.stringify(wanted)) continue;
        install(writer, table, {fields: null, deployed: wanted}, wanted.indexes);
        schemaEvent(writer, table);
      }
      note(writer, []);
      activate(writer);
    }, cause);
    if (refused !== null) throw refused;
  }

  /** For tables that are no longer declared; their documents stay. */
  #dropSchemas(writer: Writer, declared: ReadonlySet<string>): void {
    for (const table of this.#catalog.tables()) {
      if (table.deployed === null || declared.has(table.name)) continue;
      install(writer, table, {fields: null, deployed: null}, []);
      writer.event({type: 'schema.deleted', table: table.name});
    }
  }

  /** Returns only a durable table: one that the current group created may be rolled back with it. */
  #table(name: string): Promise<CatalogTable> {
    return this.#groups.perform(writer => writer.table(name));
  }
}

function declaredTables(schema: SchemaDefinition | null): DeployedTable[] {
  return (schema?.tables ?? []).map(table => ({...table, isChecked: schema!.schemaValidation}));
}

function note(writer: Writer, unfinished: number[]): void {
  const text = JSON.stringify(unfinished);
  if ((writer.statements.meta.get(UNFINISHED_KEY) ?? '[]') !== text)
    writer.statements.setMeta.run(UNFINISHED_KEY, text);
}

/** Documents that fitted the old schema also fit the new one. */
function isUnchanged(before: DeployedTable | null, after: DeployedTable): boolean {
  if (before === null) return false;
  return before.isChecked === after.isChecked && JSON.stringify(before.document) === JSON.stringify(after.document);
}

/** @throws SchemaMismatch with a line for every table that does not match */
async function allMatch(
  checks: DocumentCheck[],
  checked: CheckedDocument,
  run: (check: DocumentCheck) => Promise<Offender[]>,
): Promise<void> {
  const lines: string[] = [];
  for (const check of checks) {
    const [first] = await run(check);
    if (first !== undefined) lines.push(mismatchLine(check.table.name, first, checked));
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

function mismatchLine(table: string, offender: Offender, checked: CheckedDocument): string {
  const which = checked === 'Document' ? ` with ID "${offender.id}"` : '';
  return `${checked}${which} in table "${table}" does not match the schema: ${shownViolation(offender)}`;
}
