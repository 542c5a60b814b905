/**
 * Imports lines under an id, a few thousand per request. The server records its progress in the same commits as the
 * lines, and skips lines that are already in. A request whose answer was lost is therefore simply sent again, and so is
 * a complete import that was interrupted, crashed or stopped at a bad line, for IMPORT_KEEP_MS: no line is imported
 * twice or missed.
 *
 *   chunk ─▶ its whole lines ─▶ POST …/import?import_id=…&first_line=… ─▶ how far it came ─▶ the next chunk
 */
import type {Buffer} from 'node:buffer';
import {createHash, type Hash} from 'node:crypto';
import {IMPORT_LINE_BYTES_MAX} from '../../shared/limits.ts';
import type {QueryOf} from '../../shared/operation-types.ts';
import type {ImportMode, ImportRecord, ImportResult} from '../../shared/protocol/imports.ts';
import {RefusedRequest, type ServiceClient} from '../client.ts';
import {CommandFailure} from '../failure.ts';
import {type Lines, readLines, upToLine} from './line-reader.ts';

export type ImportTarget = {
  client: ServiceClient;
  tenant: string;
  /** Lines are documents of this table; null: each is `{"table", "document"}`. */
  table: string | null;
  mode: ImportMode;
  /** The import's id at the server. */
  importId: string;
  /** Count a line that the server refuses instead of stopping at it. */
  skipBad: boolean;
  /** The imported lines that an earlier run noted; null: nothing is known about them. */
  seen: SeenLines | null;
};

/** The first lines of an input, with their digest. */
export type SeenLines = {lines: number; sha256: string};

export type ImportTally = {
  imported: number;
  /** The part of `imported` that an earlier run had imported. */
  existing: number;
  bad: number;
  /** Bytes of the input up to the last processed line. */
  bytes: number;
};

export type ImportObserver = {
  moved(tally: Readonly<ImportTally>): void;
  badLine(line: number, message: string): void;
};

export type StopReason = {line: number; message: string; isBadLine: boolean};

export type ImportEnd = ImportTally & {
  /** Null: nothing is known about the imported lines. */
  seen: SeenLines | null;
  /** Why it stopped early, and at which line. */
  stoppedBy: StopReason | null;
};

/** @param interrupted ends the import cleanly: the request in flight is finished, no other is started */
export async function importLines(
  chunks: AsyncIterable<Buffer>,
  target: ImportTarget,
  observer: ImportObserver,
  interrupted?: AbortSignal,
): Promise<ImportEnd> {
  const known = await importOf(target);
  const run = new ImportRun(target, observer, known);
  for await (const lines of readLines(chunks, IMPORT_LINE_BYTES_MAX)) {
    // After an interruption the last line can be incomplete.
    if (interrupted?.aborted === true) return run.end();
    await run.take(lines);
    if (run.hasStopped) return run.end();
  }
  if (interrupted?.aborted !== true) run.checkWhole();
  return run.end();
}

/** The server's record of the import; null: it has none. */
export async function importOf({
  client,
  tenant,
  importId,
}: Pick<ImportTarget, 'client' | 'tenant' | 'importId'>): Promise<ImportRecord | null> {
  try {
    return (await client.ask('imports.get', [tenant, importId])).import;
  } catch (caught) {
    if (caught instanceof RefusedRequest && caught.code === 'op.not_found') return null;
    throw caught;
  }
}

class ImportRun {
  readonly #target: ImportTarget;
  readonly #observer: ImportObserver;
  readonly #existing: number;
  /** An earlier run's lines, until this input is found to begin with them. */
  #unchecked: SeenLines | null;
  #made: ImportResult;
  #errorsShown: number;
  /** Of all lines taken so far. */
  readonly #digest: Hash = createHash('sha256');
  /** The lines up to the last imported one. */
  #seen: SeenLines;
  #bytes = 0;
  #stoppedBy: StopReason | null = null;

  constructor(target: ImportTarget, observer: ImportObserver, known: ImportRecord | null) {
    this.#target = target;
    this.#observer = observer;
    this.#unchecked = known === null ? null : target.seen;
    this.#made = known ?? {lines: 0, inserted: 0, updated: 0, failed: 0, errors: []};
    this.#existing = this.#made.inserted + this.#made.updated;
    this.#errorsShown = this.#made.errors.length;
    this.#seen = {lines: 0, sha256: digestOf(this.#digest)};
  }

  get hasStopped(): boolean {
    return this.#stoppedBy !== null;
  }

  async take(lines: Lines): Promise<void> {
    const last = lines.first + lines.count - 1;
    this.#check(lines, last);
    if (last > this.#made.lines) await this.#send(lines);
    const isIn = this.#made.lines >= last;
    const done = isIn ? lines.bytes : upToLine(lines, this.#made.lines);
    const before = isIn || done.length === 0 ? null : this.#digest.copy().update(done);
    this.#digest.update(lines.bytes);
    if (isIn) this.#seen = {lines: last, sha256: digestOf(this.#digest)};
    else if (before !== null) this.#seen = {lines: this.#made.lines, sha256: digestOf(before)};
    this.#bytes = lines.endsAt - (this.#stoppedBy === null ? 0 : lines.bytes.length - done.length);
    this.#observer.moved(this.end());
  }

  end(): ImportEnd {
    const {inserted, updated, failed} = this.#made;
    return {
      imported: inserted + updated,
      existing: this.#existing,
      bad: failed,
      bytes: this.#bytes,
      seen: this.#seen,
      stoppedBy: this.#stoppedBy,
    };
  }

  /** The input has ended. @throws if it lacks lines that were imported */
  checkWhole(): void {
    if (this.#unchecked !== null) checkSeen(null, this.#unchecked);
  }

  /** @throws if imported lines have changed: the server would skip those here in their place */
  #check(lines: Lines, last: number): void {
    const seen = this.#unchecked;
    if (seen === null || last < seen.lines) return;
    const sha256 = digestOf(this.#digest.copy().update(upToLine(lines, seen.lines)));
    checkSeen({lines: seen.lines, sha256}, seen);
    this.#unchecked = null;
  }

  async #send({first, bytes}: Lines): Promise<void> {
    const {client, tenant, table, mode, importId, skipBad} = this.#target;
    const query: QueryOf<'imports.run'> = {
      import_id: importId,
      first_line: first,
      on_error: skipBad ? 'skip' : 'stop',
      ...(table === null ? {} : {table}),
      ...(mode === 'insert' ? {} : {mode}),
    };
    try {
      const headers = {'content-type': 'application/x-ndjson'};
      this.#came(await client.ask('imports.run', [tenant], {query, body: bytes, headers}));
    } catch (caught) {
      const {made, stoppedBy} = refusedImport(caught, this.#made);
      this.#came(made);
      this.#stoppedBy = stoppedBy;
    }
  }

  #came(made: ImportResult): void {
    this.#made = made;
    for (const {line, message} of made.errors.slice(this.#errorsShown)) this.#observer.badLine(line, message);
    this.#errorsShown = made.errors.length;
  }
}

type RefusalDetail = {line?: number; import?: ImportResult};

/**
 * The progress of an import when one of its requests failed, and why it stops there. @throws if the error is not an
 * answer
 */
export function refusedImport(caught: unknown, before: ImportResult): {made: ImportResult; stoppedBy: StopReason} {
  if (!(caught instanceof CommandFailure)) throw caught;
  const {line, import: made = before} = (caught instanceof RefusedRequest ? caught.detail : {}) as RefusalDetail;
  const message = line === undefined ? caught.message : caught.message.replace(`line ${line}: `, '');
  return {made, stoppedBy: {line: line ?? made.lines + 1, message, isBadLine: line !== undefined}};
}

/** @throws if imported lines have changed: the server would skip these in their place */
export function checkSeen(found: SeenLines | null, {lines, sha256}: SeenLines): void {
  if (found?.sha256 === sha256) return;
  throw new CommandFailure(
    `an earlier run imported lines 1 to ${lines}, which are others now; to import this as something else, name it with --import-id`,
  );
}

/** The digest so far; more lines can follow. */
function digestOf(digest: Hash): string {
  return digest.copy().digest('base64url');
}
