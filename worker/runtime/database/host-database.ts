/**
 * The host's side of `ctx.db`, for one invocation after another. A query reads from its thread's snapshot. A mutation
 * reads from the writer, so it sees its own writes. Errors of user code become answers; storage errors and failed
 * assertions are thrown to the runner of the invocation.
 */

import type {Writer} from '../../../engine/commit/writer.ts';
import {ReadLog} from '../../../engine/reads/read-log.ts';
import type {ReadSet} from '../../../engine/reads/read-set.ts';
import {storedDocumentText} from '../../../engine/storage/document.ts';
import type {FunctionReader} from '../../../engine/storage/function-reader.ts';
import {decodeId} from '../../../engine/storage/ids.ts';
import type {DocumentRow} from '../../../engine/storage/rows.ts';
import {DOCS_PER_TABLE} from '../../../engine/storage/tables.sql.ts';
import {assert} from '../../../shared/assert.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {DOCUMENT_ID_CHARS_MAX} from '../../../shared/limits.ts';
import type {Deadline} from '../deadline.ts';
import {HostOp} from '../guest/host-call.ts';
import {Budget} from './budget.ts';
import {DatabaseFault, undecodable} from './database-fault.ts';
import {DocumentWrites} from './document-writes.ts';
import {KnownRows} from './known-rows.ts';
import {OpenQuery} from './open-query.ts';
import {pageOptions, paginate} from './paginate.ts';
import {QueryPlan} from './query-plan.ts';
import {parseRealmJson} from './realm-json.ts';

type Argument = string | number | undefined;

export class HostDatabase {
  #reader!: FunctionReader;
  readonly #writer: Writer | null;
  readonly #writes: DocumentWrites | null;
  /** Null: nothing is written, so few documents are read twice. */
  readonly #known: KnownRows | null;
  readonly #budget = new Budget();
  readonly #open = new Map<number, OpenQuery>();
  #lastHandle = 0;
  #endCursor: string | null = null;
  #reads = new ReadLog();
  #paginated: {endCursor: string} | null = null;
  #warnings: string[] = [];

  /** @param reader null: `readFrom` names it before the first invocation @param writer null: read-only */
  constructor(reader: FunctionReader | null, writer: Writer | null) {
    if (reader !== null) this.readFrom(reader);
    this.#writer = writer;
    this.#known = writer === null ? null : new KnownRows();
    this.#writes = writer === null ? null : new DocumentWrites(writer, this.#budget, this.#known!);
  }

  readFrom(reader: FunctionReader): void {
    this.#reader = reader;
  }

  /**
   * @param endCursor the end of a page that is computed again; null: the end follows from its options
   * @param deadline checked while documents are read
   */
  begin({endCursor, deadline = null}: {endCursor: string | null; deadline?: Deadline | null}): void {
    this.#budget.begin(deadline);
    this.#endCursor = endCursor;
    this.#reads = new ReadLog();
    this.#paginated = null;
    this.#known?.clear();
  }

  end(): void {
    this.#open.clear();
    this.#known?.clear();
    this.#warnings = this.#budget.warnings();
  }

  /** Log lines about limits that the last invocation nearly reached. */
  takeWarnings(): string[] {
    const warnings = this.#warnings;
    this.#warnings = [];
    return warnings;
  }

  /** The message of an exceeded limit, even if user code caught it; null: none. */
  get limitExceeded(): string | null {
    return this.#budget.exceeded;
  }

  /** What the invocation has read so far. */
  get readSet(): ReadSet {
    return this.#reads.readSet();
  }

  /** The end of the page that was made; null: none was made. */
  get paginated(): {endCursor: string} | null {
    return this.#paginated;
  }

  /** One host call. @returns a host answer */
  call(op: HostOp, a: Argument, b: Argument, c: Argument): string {
    try {
      return `+${this.#call(op, a, b, c)}`;
    } catch (caught) {
      if (!(caught instanceof DatabaseFault || caught instanceof ServiceError)) throw caught;
      // Code must not continue as if a damaged document did not exist.
      if (caught instanceof ServiceError && caught.code === 'op.storage_damaged') throw caught;
      const name = caught instanceof DatabaseFault ? caught.kind : 'Error';
      return `-${JSON.stringify({name, message: caught.message})}`;
    }
  }

  #call(op: HostOp, a: Argument, b: Argument, c: Argument): string {
    switch (op) {
      case HostOp.get:
        return this.#get(String(a));
      case HostOp.tableOf:
        return this.#tableOf(String(a));
      case HostOp.queryOpen:
        return this.#openQuery(String(a), Number(b));
      case HostOp.queryNext:
        return this.#next(Number(a), Number(b));
      case HostOp.queryClose:
        this.#open.delete(Number(a));
        return '';
      case HostOp.paginate:
        return this.#paginate(String(a), String(b));
      case HostOp.insert:
        return this.#writable().insert(String(a), String(b));
      case HostOp.patch:
        this.#writable().patch(String(a), String(b), String(c));
        return '';
      case HostOp.delete:
        this.#writable().delete(String(a));
        return '';
      default:
        throw new DatabaseFault(`${op} is not an operation of the database`);
    }
  }

  #writable(): DocumentWrites {
    if (this.#writes === null) throw new DatabaseFault('the database cannot be written in a query');
    return this.#writes;
  }

  /** The document's text; empty if there is none. */
  #get(id: string): string {
    this.#budget.read();
    // Checked before the id is recorded: an overlong id would only cost memory and time.
    if (id.length > DOCUMENT_ID_CHARS_MAX) throw undecodable('get');
    this.#reads.id(id);
    const row = this.#row(id);
    if (row === undefined) {
      if (decodeId(id) !== null) return '';
      throw undecodable('get');
    }
    assert(row.id === id, `document ${row.doc} has the id it was asked for by`);
    this.#reads.found(id, Math.floor(row.doc / DOCS_PER_TABLE));
    this.#budget.scanned(row.body);
    return storedDocumentText(row);
  }

  #row(id: string): DocumentRow | undefined {
    const known = this.#known?.get(id);
    if (known !== undefined) return known;
    const deferred = this.#writer?.changes.deferred(id);
    const row = deferred === undefined ? this.#reader.documentById(id) : (deferred ?? undefined);
    if (row !== undefined) this.#known?.set(row);
    return row;
  }

  /** An id of the service names its table; a caller's own id must be looked up. */
  #tableOf(id: string): string {
    const decoded = decodeId(id);
    if (decoded !== null) return this.#reader.tableName(decoded.tableNumber) ?? '';
    if (id.length > DOCUMENT_ID_CHARS_MAX) return '';
    this.#budget.read();
    this.#reads.id(id);
    const row = this.#row(id);
    return row === undefined ? '' : (this.#reader.tableName(Math.floor(row.doc / DOCS_PER_TABLE)) ?? '');
  }

  #openQuery(spec: string, wanted: number): string {
    this.#budget.read();
    this.#writer?.changes.storeDeferred();
    const plan = new QueryPlan(this.#reader, spec);
    const query = new OpenQuery(plan, this.#budget, this.#known);
    this.#reads.query(() => query.readSet());
    const handle = ++this.#lastHandle;
    assert(!this.#open.has(handle), `handle ${handle} is given once`);
    this.#open.set(handle, query);
    return this.#next(handle, wanted);
  }

  #next(handle: number, wanted: number): string {
    const query = this.#open.get(handle);
    if (query === undefined) throw new DatabaseFault("This query is closed and can't emit any more values");
    this.#writer?.changes.storeDeferred();
    const {text, isDone} = query.read(wanted);
    if (isDone) this.#open.delete(handle);
    return `${handle},${isDone ? 1 : 0}\n${text}`;
  }

  #paginate(spec: string, options: string): string {
    this.#budget.read();
    if (this.#paginated !== null) {
      throw new DatabaseFault(
        'This function ran multiple paginated queries. Only a single paginated query is supported in each function.',
      );
    }
    this.#writer?.changes.storeDeferred();
    const plan = new QueryPlan(this.#reader, spec);
    const requested = pageOptions(parseRealmJson(options), this.#endCursor);
    const {endCursor, text, readSet} = paginate(plan, requested, this.#budget);
    this.#reads.query(() => readSet);
    this.#paginated = {endCursor};
    return text;
  }
}
