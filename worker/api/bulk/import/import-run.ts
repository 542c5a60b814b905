/**
 * One request of an import: its lines become commits of up to IMPORT_COMMIT_LINES, and one commit is written while the
 * next is read. Each commit also stores the import's progress, so the reported progress is always what is in the
 * tenant.
 *
 *   body ─▶ lines ─▶ chunk ─▶ commit group ─▶ the next chunk may follow the one after
 *     a line is refused: stop, with all before it in and nothing behind it; or skip, with it counted
 *     a commit is taken back (no space): those behind it are refused, as their lines do not follow what is in
 */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import type {Cause} from '../../../../engine/commit/cause.ts';
import type {CommitGroups} from '../../../../engine/commit/group.ts';
import {NewDocuments} from '../../../../engine/commit/new-documents.ts';
import type {Writer} from '../../../../engine/commit/writer.ts';
import {GROUP_WORK_MS_MAX} from '../../../../engine/limits.ts';
import {assert} from '../../../../shared/assert.ts';
import {conflict, ServiceError} from '../../../../shared/errors.ts';
import {BULK_ERRORS_SHOWN} from '../../../../shared/limits.ts';
import type {ImportResult} from '../../../../shared/protocol/imports.ts';
import {BULK_DOCUMENTS_A_STEP, BULK_ERROR_CHARS, IMPORT_COMMIT_BYTES, IMPORT_COMMIT_LINES} from '../../limits.ts';
import type {ImportLine} from './import-line.ts';

export type ImportSettings = {
  stopsAtErrors: boolean;
  cause: Cause;
  /** Called in each commit. */
  store: (writer: Writer, made: ImportResult, isComplete: boolean) => void;
};

const NOTHING: ImportResult = {lines: 0, inserted: 0, updated: 0, failed: 0, errors: []};

export class ImportRun {
  readonly #groups: CommitGroups;
  readonly #settings: ImportSettings;
  /** Progress of the commits that have run, durable or not. */
  #made: ImportResult;
  /** Durable progress. */
  #durable: ImportResult;
  #stop: ServiceError | null = null;
  /** Numbers of commits requested, and run. */
  #requested = 0;
  #ran = 0;

  /** @param made progress of earlier requests */
  constructor(groups: CommitGroups, settings: ImportSettings, made: ImportResult = NOTHING) {
    this.#groups = groups;
    this.#settings = settings;
    this.#made = made;
    this.#durable = made;
  }

  /** Another request has taken over the import: further writes of this one are refused. */
  giveUp(): void {
    this.#stop ??= conflict('another request goes on with this import');
  }

  /** @throws the reason for an early end, with the durable progress */
  async take(lines: AsyncIterable<Iterable<ImportLine>>): Promise<ImportResult> {
    try {
      await this.#take(lines);
    } catch (caught) {
      throw this.#ended(caught);
    }
    if (this.#stop !== null) throw this.#ended(this.#stop);
    return this.#durable;
  }

  async #take(lines: AsyncIterable<Iterable<ImportLine>>): Promise<void> {
    let before: Promise<void> = Promise.resolve();
    let chunk: ImportLine[] = [];
    let chars = 0;
    let ends = performance.now() + GROUP_WORK_MS_MAX;
    try {
      for await (const some of lines) {
        for (const line of some) {
          if (this.#stop !== null) {
            await before; // reported when the lines before it are on disk
            return;
          }
          chunk.push(line);
          chars += line.chars;
          if (chunk.length === IMPORT_COMMIT_LINES || chars >= IMPORT_COMMIT_BYTES) {
            const written = this.#write(chunk, false);
            chunk = [];
            chars = 0;
            await before;
            before = written; // while the next one is read
            ends = performance.now() + GROUP_WORK_MS_MAX;
          }
          // The line is known to be refused before the write.
          if ('error' in line && this.#settings.stopsAtErrors) break;
          if (performance.now() < ends) continue;
          await nextTurn();
          ends = performance.now() + GROUP_WORK_MS_MAX;
        }
        const last = chunk.at(-1);
        if (last !== undefined && 'error' in last && this.#settings.stopsAtErrors) break;
      }
    } catch (caught) {
      // The lines before the fault are complete.
      if (caught instanceof ServiceError && chunk.length > 0) await this.#write(chunk, false).catch(() => undefined);
      await before;
      throw caught;
    }
    await before;
    await this.#write(chunk, true);
  }

  /** @param isLast nothing follows. Rejects if the commit fails. */
  #write(chunk: readonly ImportLine[], isLast: boolean): Promise<void> {
    assert(chunk.length <= IMPORT_COMMIT_LINES, 'a commit of an import has a bounded number of lines');
    const place = this.#requested++;
    const written = new Promise<void>((resolve, reject) => {
      this.#groups.submit<ImportResult>({
        cause: this.#settings.cause,
        slices: writer => this.#make(writer, place, chunk, isLast),
        settle: outcome => {
          if (outcome instanceof ServiceError) reject(outcome);
          else {
            assert(outcome.inserted >= this.#durable.inserted, 'the durable progress of an import only grows');
            this.#durable = outcome;
            resolve();
          }
        },
      });
    });
    written.catch(() => undefined); // awaited one batch later
    return written;
  }

  *#make(
    writer: Writer,
    place: number,
    chunk: readonly ImportLine[],
    isLast: boolean,
  ): Generator<void, ImportResult, void> {
    if (this.#stop !== null) return this.#made;
    if (place !== this.#ran) throw new ServiceError('session.storage_full', 'lines before these could not be written');
    const before = this.#made;
    let stop: ServiceError | null = null;
    writer.onRollback(() => {
      this.#made = before;
      this.#ran = place;
      if (this.#stop === stop) this.#stop = null;
    });
    this.#ran = place + 1;
    assert(this.#ran <= this.#requested, 'a commit of an import runs after it was submitted');
    const documents = new NewDocuments(writer);
    let {lines, inserted, updated, failed, errors} = before;
    for (const [i, line] of chunk.entries()) {
      if (i % BULK_DOCUMENTS_A_STEP === BULK_DOCUMENTS_A_STEP - 1) yield;
      const outcome = madeOf(writer, documents, line);
      if (outcome === 'inserted') inserted++;
      else if (outcome === 'updated') updated++;
      else if (outcome !== null && this.#settings.stopsAtErrors) {
        stop = refusal(line.line, outcome);
        break;
      } else if (outcome !== null) {
        failed++;
        if (errors.length < BULK_ERRORS_SHOWN) errors = [...errors, shownError(line.line, outcome)];
      }
      ({line: lines} = line);
    }
    documents.flush();
    const counted = inserted + updated + failed - before.inserted - before.updated - before.failed;
    assert(counted <= chunk.length, `${chunk.length} lines count as ${counted}`);
    // The lines before the one that stopped the import count, including blank ones.
    if (stop !== null) lines = Math.max(lines, (stop.detail!.line as number) - 1);
    this.#made = {lines, inserted, updated, failed, errors};
    this.#settings.store(writer, this.#made, isLast && stop === null);
    this.#stop ??= stop;
    return this.#made;
  }

  /** Adds the durable progress to an error. */
  #ended(caught: unknown): unknown {
    if (!(caught instanceof ServiceError)) return caught;
    return new ServiceError(
      caught.code,
      caught.message,
      {...caught.detail, import: this.#durable},
      {cause: caught.cause},
    );
  }
}

/** Null: there is nothing to write. */
function madeOf(
  writer: Writer,
  documents: NewDocuments,
  line: ImportLine,
): 'inserted' | 'updated' | ServiceError | null {
  if ('error' in line) return line.error;
  if ('isEnd' in line) return null;
  try {
    if ('document' in line) {
      documents.add(line.document);
      return 'inserted';
    }
    documents.flush();
    return line.make(writer);
  } catch (caught) {
    // A refused document has written nothing.
    if (caught instanceof ServiceError && !caught.isOurs) return caught;
    throw caught;
  }
}

function refusal(line: number, {code, message, detail}: ServiceError): ServiceError {
  return new ServiceError(code, `line ${line}: ${message}`, {...detail, line});
}

function shownError(line: number, {code, message}: ServiceError): ImportResult['errors'][number] {
  return {line, code, message: message.slice(0, BULK_ERROR_CHARS)};
}
