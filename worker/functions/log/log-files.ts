/**
 * Executions on disk, as JSON lines in `log/` beside the tenant's file. Each process begins a file of its own, so what it finds
 * is what was there before it; a full one is followed by the next, and the oldest is removed when there are too many.
 *
 * A log is not data: it is written some milliseconds later, without a sync, by a thread of the pool. What cannot be written is
 * dropped, said once in the service's log, and no call waits for it. A line that was torn by a crash is passed over.
 */
import {createReadStream} from 'node:fs';
import {type FileHandle, mkdir, open, readdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {
  LOG_DROPPED_TOLD_EVERY_MS,
  LOG_FILE_BYTES,
  LOG_FILES_KEEP,
  LOG_FLUSH_MS,
  LOG_UNWRITTEN_CHARS_MAX,
} from '../../../shared/limits.ts';
import type {Logger} from '../../../shared/log.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';

const FILE = /^executions-(\d{6,})\.jsonl$/;

type ReadOptions = {
  /** Only what other processes wrote. */
  beforeThisProcess?: boolean;
  /** Lines without this text are not even parsed. */
  containing?: string | null;
};

export class LogFiles {
  readonly #directory: string;
  readonly #log: Logger;
  /** The first file of this process; null until something is written. */
  #first: number | null = null;
  #current: {number: number; handle: FileHandle; bytes: number} | null = null;
  #unwritten: string[] = [];
  /** Of these and of what a slow disk is still being given. */
  #unwrittenChars = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #dropped = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  /** @param directory is made with the first line */
  constructor(directory: string, log: Logger) {
    this.#directory = directory;
    this.#log = log;
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

  /** Everything written so far is in the files when this resolves, or was dropped. */
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
  }: ReadOptions): AsyncGenerator<{entry: LogEntry; text: string}> {
    const end = beforeThisProcess ? (this.#first ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
    const wanted = containing === null ? null : JSON.stringify(containing);
    for (const number of await this.#numbers()) {
      if (number >= end) return;
      for await (const line of linesOf(this.#path(number))) {
        if (wanted !== null && !line.includes(wanted)) continue;
        const entry = parsed(line);
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
    for (let at = 0; at < lines.length; ) {
      if (this.#current === null || this.#current.bytes >= LOG_FILE_BYTES) await this.#next();
      const current = this.#current!;
      // As many as the file has room for, and one at least.
      const pieces: Buffer[] = [];
      let {bytes} = current;
      while (at < lines.length && bytes < LOG_FILE_BYTES) {
        const piece = Buffer.from(lines[at++]!);
        pieces.push(piece);
        bytes += piece.length;
      }
      await current.handle.appendFile(Buffer.concat(pieces));
      current.bytes = bytes;
    }
  }

  async #next(): Promise<void> {
    await mkdir(this.#directory, {recursive: true, mode: 0o700});
    const numbers = await this.#numbers();
    const number = (numbers.at(-1) ?? 0) + 1;
    const handle = await open(this.#path(number), 'ax', 0o600);
    await this.#current?.handle.close();
    this.#current = {number, handle, bytes: 0};
    this.#first ??= number;
    for (const old of numbers.slice(0, Math.max(0, numbers.length + 1 - LOG_FILES_KEEP)))
      await rm(this.#path(old), {force: true});
  }

  async #numbers(): Promise<number[]> {
    let names: string[];
    try {
      names = await readdir(this.#directory);
    } catch (caught) {
      if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw caught;
    }
    const numbers = names.flatMap(name => FILE.exec(name)?.[1] ?? []).map(Number);
    return numbers.sort((a, b) => a - b);
  }

  #path(number: number): string {
    return join(this.#directory, `executions-${String(number).padStart(6, '0')}.jsonl`);
  }

  #drop(lines: number, error?: unknown): void {
    this.#dropped += lines;
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < LOG_DROPPED_TOLD_EVERY_MS) return;
    this.#toldMs = nowMs;
    this.#log.warn('executions could not be written to the log of functions', {dropped: this.#dropped, error});
    this.#dropped = 0;
  }
}

/** A file may be removed while it is read: then it has no more lines. */
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

function parsed(line: string): LogEntry | null {
  try {
    const entry = JSON.parse(line) as Partial<LogEntry> | null;
    const isEntry =
      typeof entry?.at === 'number' && typeof entry.duration_ms === 'number' && Array.isArray(entry.lines);
    return isEntry ? (entry as LogEntry) : null;
  } catch {
    return null; // torn by a crash, or damaged
  }
}
