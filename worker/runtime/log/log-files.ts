/**
 * Stores entries of a log on disk, as JSON lines in a directory next to the tenant's file: `log/` for its executions.
 * Each process begins a new file, so the existing files are from earlier processes. A full file is followed by the
 * next, and the oldest is removed when there are too many.
 *
 * A log is not data: it is written some milliseconds later, without a sync, by a thread of the pool. Entries that
 * cannot be written are dropped, the service's log reports it once, and no call waits. A line torn by a crash is
 * skipped.
 */
import {createReadStream} from 'node:fs';
import {type FileHandle, mkdir, open, readdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import type {Logger} from '../../../shared/log.ts';
import {LOG_DROPPED_REPORT_EVERY_MS, LOG_FLUSH_MS, LOG_UNWRITTEN_CHARS_MAX} from '../limits.ts';

export type LogFilesParts<Entry> = {
  /** Created with the first line. */
  directory: string;
  /** Prefix of the names of its files. */
  prefix: string;
  /** Size from which a new file begins. */
  fileBytes: number;
  /** Number of files to keep. */
  filesKeep: number;
  /** Null: the line was torn by a crash, or is damaged. */
  parse: (json: unknown) => Entry | null;
  /** The log of the service itself. */
  log: Logger;
};

type ReadOptions = {
  /** Only entries of earlier processes. */
  beforeThisProcess?: boolean;
  /** Lines without this text are not parsed. */
  containing?: string | null;
};

export class LogFiles<Entry> {
  readonly #parts: LogFilesParts<Entry>;
  /** The first file of this process; null until something is written. */
  #first: number | null = null;
  #current: {number: number; handle: FileHandle; bytes: number} | null = null;
  #unwritten: string[] = [];
  /** Characters of the entries above, and of those that are being written to a slow disk. */
  #unwrittenChars = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #dropped = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: LogFilesParts<Entry>) {
    this.#parts = parts;
  }

  /** @param line ends with a newline */
  write(line: string): void {
    if (this.#unwrittenChars + line.length > LOG_UNWRITTEN_CHARS_MAX) {
      this.#drop(1);
      return;
    }
    this.#unwritten.push(line);
    this.#unwrittenChars += line.length;
    this.#timer ??= setTimeout(() => void this.flush(), LOG_FLUSH_MS).unref();
  }

  /** Resolves when everything written so far is in the files, or was dropped. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const lines = this.#unwritten;
    this.#unwritten = [];
    if (lines.length > 0) {
      const chars = lines.reduce((sum, line) => sum + line.length, 0);
      this.#writing = this.#writing
        .then(() => this.#append(lines))
        .catch(error => this.#drop(lines.length, error))
        .finally(() => {
          this.#unwrittenChars -= chars;
        });
    }
    return this.#writing;
  }

  /** All entries, oldest first. */
  async *read({
    beforeThisProcess = false,
    containing = null,
  }: ReadOptions): AsyncGenerator<{entry: Entry; text: string}> {
    const end = beforeThisProcess ? (this.#first ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
    const wanted = containing === null ? null : JSON.stringify(containing);
    for (const number of await this.#numbers()) {
      if (number >= end) return;
      for await (const line of linesOf(this.#path(number))) {
        if (wanted !== null && !line.includes(wanted)) continue;
        const entry = this.#parts.parse(parsed(line));
        if (entry !== null) yield {entry, text: `${line}\n`};
      }
    }
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#current?.handle.close();
    this.#current = null;
  }

  async #append(lines: string[]): Promise<void> {
    const {fileBytes} = this.#parts;
    for (let at = 0; at < lines.length; ) {
      if (this.#current === null || this.#current.bytes >= fileBytes) await this.#next();
      const current = this.#current!;
      // As many lines as the file has room for, but at least one.
      const chunks: Buffer[] = [];
      let {bytes} = current;
      while (at < lines.length && bytes < fileBytes) {
        const chunk = Buffer.from(lines[at++]!);
        chunks.push(chunk);
        bytes += chunk.length;
      }
      await current.handle.appendFile(Buffer.concat(chunks));
      current.bytes = bytes;
    }
  }

  async #next(): Promise<void> {
    const {directory, filesKeep} = this.#parts;
    await mkdir(directory, {recursive: true, mode: 0o700});
    const numbers = await this.#numbers();
    const number = (numbers.at(-1) ?? 0) + 1;
    const handle = await open(this.#path(number), 'ax', 0o600);
    await this.#current?.handle.close();
    this.#current = {number, handle, bytes: 0};
    this.#first ??= number;
    for (const old of numbers.slice(0, Math.max(0, numbers.length + 1 - filesKeep)))
      await rm(this.#path(old), {force: true});
  }

  async #numbers(): Promise<number[]> {
    let names: string[];
    try {
      names = await readdir(this.#parts.directory);
    } catch (caught) {
      if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw caught;
    }
    const file = new RegExp(`^${this.#parts.prefix}-(\\d{6,})\\.jsonl$`);
    const numbers = names.flatMap(name => file.exec(name)?.[1] ?? []).map(Number);
    return numbers.sort((a, b) => a - b);
  }

  #path(number: number): string {
    const {directory, prefix} = this.#parts;
    return join(directory, `${prefix}-${String(number).padStart(6, '0')}.jsonl`);
  }

  #drop(lines: number, error?: unknown): void {
    this.#dropped += lines;
    const nowMs = performance.now();
    if (nowMs - this.#reportedMs < LOG_DROPPED_REPORT_EVERY_MS) return;
    this.#reportedMs = nowMs;
    const {log, prefix} = this.#parts;
    log.warn('lines could not be written to a log', {log: prefix, dropped: this.#dropped, error});
    this.#dropped = 0;
  }
}

/** A file can be removed while it is read: then it has no more lines. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const stream = createReadStream(path, 'utf8');
  let missing = false;
  stream.on('error', error => {
    missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  });
  try {
    yield* createInterface({input: stream, crlfDelay: Number.POSITIVE_INFINITY});
  } catch (caught) {
    if (!missing) throw caught;
  } finally {
    stream.destroy();
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null; // torn by a crash, or damaged
  }
}
