/**
 * Puts what the log has of one tenant into a spool (`engine/copies/spool-view.ts`), from which the copier of this host
 * stores it: the log takes the place of the worker that captures commits.
 *
 *   unknown ──begin──▶ behind a base that the repository has, or the first record ──step──▶ at the tail of the log
 *      ▲                 └── there is none, or a base was requested: the newest base of the log ─┘        │
 *      └──────────────── the log was trimmed, has another history, or does not continue ◀─────────────────┘
 *
 * Nothing in a spool is needed: it is made again from the log. So nothing is synced, and `begin` removes everything but
 * `confirmed`, which is where the repository is.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {readAt, writeAll} from '../../engine/copies/bytes.ts';
import {DIGEST_BYTES} from '../../engine/copies/page-digest.ts';
import {decodeHead, HEADER_BYTES, type PageSetHead, type Position, SUM_BYTES} from '../../engine/copies/page-set.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {encodePosition} from '../../engine/copies/position-file.ts';
import {BASE_FILE, CONFIRMED_FILE, POSITION_FILE, setName} from '../../engine/copies/spool-files.ts';
import {type SpoolList, SpoolView} from '../../engine/copies/spool-view.ts';
import {SPOOL_DIRECTORY} from '../../shared/tenant-directory.ts';
import {LOG_SPOOL_BYTES, LOG_SPOOL_SETS} from '../limits.ts';
import type {Bases} from '../log/bases.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {TenantName} from '../log/subjects.ts';
import type {LogRecord, TenantLog} from '../log/tenant-log.ts';

export type LogSpoolParts = {
  readonly tenant: TenantName;
  readonly log: TenantLog;
  readonly bases: Pick<Bases, 'list' | 'read'>;
  /** Has the directory `spool`; no tenant can change it. */
  readonly directory: string;
};

/** What is being written. */
const NEXT = 'next';

/** A record does not follow what the repository has. */
class Gap extends Error {}

export class LogSpool {
  readonly #parts: LogSpoolParts;
  readonly #path: string;
  /** The newest record that the spool or the repository has; null: none. Undefined: not known. */
  #tail: LogPosition | null | undefined = undefined;
  /** Its commit; null: the next page set is a base. */
  #commit: number | null = null;
  /** Of the base in the spool; null: there is none. */
  #baseLast: number | null = null;
  /** Bytes of the base and the sets in the spool, by their last commits, in order. */
  readonly #sets = new Map<number, number>();
  #bytes = 0;
  #isBaseWanted = false;

  constructor(parts: LogSpoolParts) {
    this.#parts = parts;
    this.#path = join(parts.directory, SPOOL_DIRECTORY);
  }

  /** The copier has stored all of it. */
  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Nothing in the spool leads on from the repository: the next step begins with a base. */
  wantBase(): void {
    this.#isBaseWanted = true;
  }

  /** The copier has to store some before the next record is read. */
  get isFull(): boolean {
    return this.#bytes >= LOG_SPOOL_BYTES || this.#sets.size >= LOG_SPOOL_SETS;
  }

  /**
   * Reads up to the newest record, unless the spool is full.
   * @returns whether the copier has to look. @throws LogError, EngineError, PageSetError; errors of the file system
   */
  async step(): Promise<boolean> {
    const isNew = this.#isBaseWanted || this.#tail === undefined;
    if (isNew) await this.#begin(this.#isBaseWanted);
    try {
      return (await this.#follow()) || isNew;
    } catch (error) {
      const isLost = error instanceof LogError && (error.code === 'trimmed' || error.code === 'diverged');
      if (!isLost && !(error instanceof Gap)) throw error;
      await this.#begin(true);
      await this.#follow();
      return true;
    }
  }

  /** Forgets what the copier has stored. @returns whether there was some. @throws errors of the file system */
  prune(): boolean {
    const confirmed = this.#listed()?.confirmed?.commit ?? -1;
    let isLess = false;
    for (const [last, bytes] of this.#sets) {
      if (last > confirmed) break;
      rmSync(join(this.#path, last === this.#baseLast ? BASE_FILE : setName(last)), {force: true});
      this.#sets.delete(last);
      this.#bytes -= bytes;
      isLess = true;
    }
    return isLess;
  }

  /** @param withBase whatever the repository has */
  async #begin(withBase: boolean): Promise<void> {
    // One that is requested meanwhile is for the next step.
    this.#isBaseWanted = false;
    try {
      await this.#begun(withBase);
    } catch (error) {
      this.#isBaseWanted ||= withBase;
      throw error;
    }
  }

  async #begun(withBase: boolean): Promise<void> {
    this.#tail = undefined;
    const confirmed = this.#listed()?.confirmed ?? null;
    this.#empty();
    const start = confirmed === null || withBase ? null : await this.#startAfter(confirmed);
    if (start === null) await this.#beginWithBase();
    else {
      [this.#tail, this.#commit] = [start.tail, confirmed!.commit];
      this.#writePosition(confirmed!);
    }
  }

  /** The newest place in the log after which no commit is missing that the repository lacks. Null: there is none. */
  async #startAfter({timeline, commit}: Position): Promise<{tail: LogPosition | null} | null> {
    const {bases, tenant, log} = this.#parts;
    for (const base of (await bases.list(tenant)).toReversed()) {
      const head = await firstHead(bases.read(tenant, base));
      if (head.timeline !== timeline) return null;
      if (head.last <= commit) return {tail: base.position};
    }
    const first = await firstPages(log);
    return first !== null && first.timeline === timeline ? {tail: null} : null;
  }

  async #beginWithBase(): Promise<void> {
    const {bases, tenant} = this.#parts;
    let fault: unknown = null;
    for (const base of (await bases.list(tenant)).toReversed()) {
      try {
        await this.#addBase(bases.read(tenant, base));
        this.#tail = base.position;
        return;
      } catch (error) {
        // The log has all records behind the older one.
        if (!(error instanceof LogError || error instanceof PageSetError)) throw error;
        fault = error;
      }
    }
    if (fault !== null) throw fault;
    // A log without bases begins with one. A tenant that was never used has nothing, and no spool.
    rmSync(this.#path, {recursive: true, force: true});
    [this.#tail, this.#commit] = [null, null];
  }

  /** @returns whether there are more page sets than before */
  async #follow(): Promise<boolean> {
    this.prune();
    let isMore = false;
    for await (const record of this.#parts.log.read(this.#tail!)) {
      if (this.isFull) break;
      const {kind} = record.head;
      if (kind === 'commit' || kind === 'migrate') isMore = (await this.#add(record)) || isMore;
      this.#tail = record.position;
    }
    return isMore;
  }

  /** @returns false: the repository has it */
  async #add(record: LogRecord): Promise<boolean> {
    const {path, head, bytes} = await this.#written(record.body());
    const {first, last} = head;
    const at = this.#commit;
    if (first === 0 && (at === null || last > at)) {
      this.#takeBase(path, bytes, head);
      return true;
    }
    if (at !== null && last <= at) {
      rmSync(path);
      return false;
    }
    if (at === null || first !== at + 1) {
      rmSync(path);
      throw new Gap(`commits ${first} to ${last} do not follow ${at}`);
    }
    renameSync(path, join(this.#path, setName(last)));
    this.#added(last, bytes);
    return true;
  }

  async #addBase(parts: AsyncIterable<Buffer>): Promise<void> {
    const {path, head, bytes} = await this.#written(parts);
    this.#takeBase(path, bytes, head);
  }

  /** Until it has its name, the spool leads nowhere, or to what is in it. */
  #takeBase(path: string, bytes: number, head: PageSetHead): void {
    this.#empty();
    rmSync(join(this.#path, CONFIRMED_FILE), {force: true});
    const position = positionAfter(path, bytes, head);
    renameSync(path, join(this.#path, BASE_FILE));
    this.#baseLast = head.last;
    this.#added(head.last, bytes);
    this.#writePosition(position);
  }

  #added(last: number, bytes: number): void {
    this.#commit = last;
    this.#sets.set(last, bytes);
    this.#bytes += bytes;
  }

  async #written(parts: AsyncIterable<Buffer>): Promise<{path: string; head: PageSetHead; bytes: number}> {
    mkdirSync(this.#path, {recursive: true, mode: 0o700});
    const path = join(this.#path, NEXT);
    const fd = openSync(path, 'w+', 0o600);
    try {
      for await (const part of parts) writeAll(fd, part, null);
      return {path, head: decodeHead(readAt(fd, 0, HEADER_BYTES)), bytes: fstatSync(fd).size};
    } finally {
      closeSync(fd);
    }
  }

  #writePosition(position: Position): void {
    const path = join(this.#path, POSITION_FILE);
    writeFileSync(`${path}.new`, encodePosition(position));
    renameSync(`${path}.new`, path);
  }

  #empty(): void {
    for (const name of existsSync(this.#path) ? readdirSync(this.#path) : []) {
      if (name !== CONFIRMED_FILE && name !== NEXT) rmSync(join(this.#path, name), {recursive: true, force: true});
    }
    this.#sets.clear();
    [this.#bytes, this.#baseLast] = [0, null];
  }

  #listed(): SpoolList | null {
    const view = SpoolView.open(this.#parts.directory);
    try {
      return view?.list() ?? null;
    } finally {
      view?.close();
    }
  }
}

/** @throws PageSetError */
async function firstHead(parts: AsyncIterable<Buffer>): Promise<PageSetHead> {
  for await (const part of parts) return decodeHead(part);
  throw new LogError('damaged', 'a page set has no bytes');
}

/** Of the first page set of a log. Null: it was trimmed, or has none. */
async function firstPages(log: TenantLog): Promise<PageSetHead | null> {
  try {
    for await (const {head, body} of log.read(null)) {
      if (head.kind === 'commit' || head.kind === 'migrate') return await firstHead(body());
    }
  } catch (error) {
    if (!(error instanceof LogError && error.code === 'trimmed')) throw error;
  }
  return null;
}

/** Where a page set in a file leads, as it says: the copier compares its SHA-256. */
function positionAfter(path: string, bytes: number, head: PageSetHead): Position {
  const {timeline, pageBytes, last: commit, sequence, timeMs, pagesAfter: pages} = head;
  const fd = openSync(path, 'r');
  try {
    const digest = readAt(fd, bytes - SUM_BYTES - DIGEST_BYTES, DIGEST_BYTES);
    return {timeline, pageBytes, commit, sequence, timeMs, pages, digest};
  } finally {
    closeSync(fd);
  }
}
