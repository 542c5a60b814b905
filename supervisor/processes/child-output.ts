/**
 * Writes a child's standard output and error as lines of the server's log. A compromised child can write anything, so
 * none of it reaches our output unprocessed: a line is parsed as a line of our logger or treated as text, labelled with
 * what the supervisor knows about its writer, formatted here, and limited in length and rate. Both streams are always
 * read, so no child blocks on its log; lines beyond the rate are dropped and counted.
 */
import {Buffer} from 'node:buffer';
import type {Readable} from 'node:stream';
import {LOG_CAUSES_MAX} from '../../shared/limits.ts';
import {LOG_LEVELS, type LogFields, type Logger, type LogLevel} from '../../shared/log.ts';
import type {RateLimit} from '../../shared/rate-limit.ts';
import {TokenBucket} from '../../shared/token-bucket.ts';
import {
  CHILD_LINE_BYTES_MAX,
  CHILD_LINE_FIELDS_MAX,
  CHILD_LINES_COUNTED_MS,
  CHILD_LINES_MUTED_MS,
  LOG_UNWRITTEN_BYTES_MAX,
  ROUTER_LINES_AT_ONCE_MAX,
  ROUTER_LINES_PER_SECOND_MAX,
  WORKER_LINES_AT_ONCE_MAX,
  WORKER_LINES_PER_SECOND_MAX,
} from '../limits.ts';

export type ChildKind = 'router' | 'worker' | 'egress' | 'copier' | 'cluster';

/** What the supervisor knows about the writer. It is added to every line and cannot be overridden. */
export type ChildLabel = {process: ChildKind; pid: number | undefined; tenant: string | undefined};

const SERVER = {requests_per_second: ROUTER_LINES_PER_SECOND_MAX, burst: ROUTER_LINES_AT_ONCE_MAX};
const RATES: Record<ChildKind, RateLimit> = {
  router: SERVER,
  egress: SERVER,
  copier: SERVER,
  cluster: SERVER,
  worker: {requests_per_second: WORKER_LINES_PER_SECOND_MAX, burst: WORKER_LINES_AT_ONCE_MAX},
};
const NEW_LINE = 0x0a;
/** Characters of an error's name. */
const NAME_CHARS_MAX = 64;
/** Fields that only the supervisor sets, and those that every line has. */
const OURS = new Set(['time', 'level', 'message', 'process', 'pid', 'tenant']);

export class ChildOutput {
  readonly #log: Logger;
  readonly #label: () => ChildLabel;
  readonly #onEnd: () => void;
  readonly #streams: readonly Readable[];
  readonly #bucket: TokenBucket;
  #open: number;
  #mutedUntilMs = 0;
  #dropped = 0;
  /** The number at the last check: while it grows, the flood continues. */
  #droppedBefore = 0;
  #counting: NodeJS.Timeout | null = null;

  /** @param onEnd called once when everything is read, never before the constructor returns */
  constructor(streams: readonly Readable[], log: Logger, label: () => ChildLabel, onEnd: () => void) {
    this.#log = log;
    this.#label = label;
    this.#onEnd = onEnd;
    this.#streams = streams;
    this.#open = streams.length;
    this.#bucket = new TokenBucket(RATES[label().process], performance.now());
    for (const stream of streams) this.#read(stream);
  }

  get isOpen(): boolean {
    return this.#open > 0;
  }

  /** Stops reading, because another process can hold the streams open for any time. */
  close(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  #read(stream: Readable): void {
    const lines = new Lines();
    stream.on('data', (chunk: Buffer) => this.#take(lines, chunk));
    stream.on('error', () => undefined); // `close` follows
    stream.on('close', () => {
      const last = lines.rest();
      if (last !== null) this.#line(last);
      this.#open--;
      if (this.#open > 0) return;
      this.#sayDropped();
      this.#onEnd();
    });
  }

  #take(lines: Lines, chunk: Buffer): void {
    let from = 0;
    while (from < chunk.length) {
      if (performance.now() < this.#mutedUntilMs) {
        this.#drop(lines.skip(chunk, from));
        return;
      }
      const end = chunk.indexOf(NEW_LINE, from);
      if (end === -1) {
        lines.hold(chunk.subarray(from));
        return;
      }
      lines.hold(chunk.subarray(from, end));
      from = end + 1;
      const line = lines.rest();
      if (line !== null) this.#line(line);
    }
  }

  #line(bytes: Buffer): void {
    const nowMs = performance.now();
    // Our own output may be slower than theirs, and unwritten lines stay in our memory.
    const isBehind = process.stderr.writableLength > LOG_UNWRITTEN_BYTES_MAX;
    if (isBehind || !this.#bucket.take(nowMs, Math.ceil(bytes.length / 1024))) {
      this.#mutedUntilMs = nowMs + CHILD_LINES_MUTED_MS;
      this.#drop(1);
      return;
    }
    const {level, message, fields} = read(bytes);
    this.#logger()[level](message, fields);
  }

  #logger(): Logger {
    return this.#log.child({...this.#label()});
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    if (this.#counting !== null || this.#dropped === 0) return;
    this.#logger().warn('a child process writes too much: lines of it are dropped');
    this.#counting = setInterval(() => {
      if (this.#dropped === this.#droppedBefore) this.#sayDropped();
      this.#droppedBefore = this.#dropped;
    }, CHILD_LINES_COUNTED_MS).unref();
  }

  #sayDropped(): void {
    if (this.#counting === null) return;
    clearInterval(this.#counting);
    this.#counting = null;
    this.#logger().warn('lines of a child process were dropped', {lines: this.#dropped});
    this.#dropped = 0;
    this.#droppedBefore = 0;
  }
}

/** Assembles the current line. */
class Lines {
  #buffered: Buffer[] = [];
  #bytes = 0;
  /** The rest of this line is dropped, together with its beginning. */
  #isSkipped = false;

  hold(chunk: Buffer): void {
    if (this.#isSkipped) return;
    const kept = chunk.subarray(0, CHILD_LINE_BYTES_MAX - this.#bytes);
    if (kept.length === 0) return;
    // A copy, because a small chunk would keep the whole pool buffer that contains it alive.
    this.#buffered.push(Buffer.from(kept));
    this.#bytes += kept.length;
  }

  /** The assembled line, which is complete. Null: it was dropped, or is empty. */
  rest(): Buffer | null {
    const line = this.#isSkipped || this.#bytes === 0 ? null : Buffer.concat(this.#buffered);
    this.#buffered = [];
    this.#bytes = 0;
    this.#isSkipped = false;
    return line;
  }

  /** Drops the chunk. @returns the number of lines that end in it */
  skip(chunk: Buffer, from: number): number {
    let ends = 0;
    for (let at = from; at < chunk.length; at++) if (chunk[at] === NEW_LINE) ends++;
    this.rest();
    this.#isSkipped = chunk[chunk.length - 1] !== NEW_LINE;
    return ends;
  }
}

type Read = {level: LogLevel; message: string; fields: LogFields};

/** Parses a line of our logger, or treats the line as text: for example a warning of Node, or the output of a crash. */
function read(bytes: Buffer): Read {
  const text = bytes.toString('utf8');
  const said = objectIn(text);
  const level = LOG_LEVELS.find(name => name === said?.level);
  if (said === null || level === undefined || typeof said.message !== 'string') {
    return {level: 'warn', message: 'a child process wrote', fields: {text}};
  }
  const fields = Object.entries(said).filter(([name]) => !OURS.has(name));
  const shown = fields.slice(0, CHILD_LINE_FIELDS_MAX).map(([name, value]) => [name, errorIn(value) ?? value]);
  return {level, message: said.message, fields: Object.fromEntries(shown) as LogFields};
}

function objectIn(text: string): Record<string, unknown> | null {
  if (!text.startsWith('{')) return null;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null; // text that begins like a JSON line
  }
}

/** The error that a JSON line contains, for logs that people read; null: it contains no error. */
function errorIn(value: unknown, causes = 0): Error | null {
  if (typeof value !== 'object' || value === null) return null;
  const {name, message, stack, code, cause} = value as Record<string, unknown>;
  if (typeof name !== 'string' || typeof message !== 'string') return null;
  const shown = causes === LOG_CAUSES_MAX ? undefined : (errorIn(cause, causes + 1) ?? cause);
  const error = new Error(message, shown === undefined ? {} : {cause: shown});
  error.name = name.slice(0, NAME_CHARS_MAX);
  if (typeof stack === 'string') error.stack = stack;
  else delete error.stack;
  return code === undefined ? error : Object.assign(error, {code});
}
