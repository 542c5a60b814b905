/**
 * Writes log lines to stderr: JSON, one object per line, or a readable form on a terminal. stdout stays free for a
 * command's own output.
 *
 * Logged text can come from a client, so control characters are escaped and long values cut: an entry never spans a
 * second line and never grows without bound. Callers log no bodies and no credentials. Writes to stderr are synchronous
 * on Linux and macOS, so a line written before `process.exit` is not lost.
 */

import {unreachable} from './assert.ts';
import {LOG_CAUSES_MAX, LOG_FIELD_LEVELS_MAX, LOG_VALUE_CHARS_MAX} from './limits.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type LogFields = Record<string, unknown>;

export type LogSettings = {
  /** Lines below this level are not written. */
  level: LogLevel;
  /** `auto`: pretty when stderr is a terminal, else JSON. */
  format: LogFormat;
  /** Where a finished line goes; ends with a newline. */
  write: (line: string) => void;
  now: () => Date;
};

/** A stack gets more space than a client's text. */
const STACK_CHARS_MAX = 4 * LOG_VALUE_CHARS_MAX;

export class Logger {
  readonly #fields: LogFields;
  readonly #settings: LogSettings;
  readonly #least: number;

  constructor(fields: LogFields, settings: LogSettings) {
    this.#fields = fields;
    this.#settings = settings;
    this.#least = LOG_LEVELS.indexOf(settings.level);
  }

  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Logger {
    return new Logger({...this.#fields, ...fields}, this.#settings);
  }

  /** True if lines of this level are written: for callers whose fields are expensive to collect. */
  writes(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) >= this.#least;
  }

  debug(message: string, fields?: LogFields): void {
    this.#line('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#line('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#line('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#line('error', message, fields);
  }

  #line(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (!this.writes(level)) return;
    const time = this.#settings.now();
    this.#settings.write(
      this.#isPretty()
        ? prettyLine(time, level, message, this.#fields, fields ?? {})
        : jsonLine(time, level, message, {...this.#fields, ...fields}),
    );
  }

  #isPretty(): boolean {
    switch (this.#settings.format) {
      case 'auto':
        return process.stderr.isTTY === true;
      case 'json':
        return false;
      case 'pretty':
        return true;
      default:
        return unreachable(this.#settings.format);
    }
  }
}

/**
 * A logger with these fields on every line. Level and format come from SVC_LOG_LEVEL and SVC_LOG_FORMAT, which the
 * supervisor sets for its children (JSON: it formats their lines itself), unless `settings` says otherwise.
 */
export function createLogger(fields: LogFields, settings: Partial<LogSettings> = {}): Logger {
  const level = LOG_LEVELS.find(name => name === process.env.SVC_LOG_LEVEL) ?? 'info';
  const format = LOG_FORMATS.find(name => name === process.env.SVC_LOG_FORMAT) ?? 'auto';
  return new Logger(fields, {level, format, write: writeToStderr, now: () => new Date(), ...settings});
}

let listensForErrors = false;

/** A log reader that went away must not end a server; there is nowhere left to report such an error. */
function writeToStderr(line: string): void {
  if (!listensForErrors) {
    process.stderr.on('error', () => undefined);
    listensForErrors = true;
  }
  process.stderr.write(line);
}

function jsonLine(time: Date, level: LogLevel, message: string, fields: LogFields): string {
  const line: LogFields = {time: time.toISOString(), level, message: cut(message, LOG_VALUE_CHARS_MAX)};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) line[name] = shown(value, 1);
  // JSON escapes C0 controls itself.
  return `${oneLine(JSON.stringify(line))}\n`;
}

/** The writer comes before its message, which can contain anything; a stack is indented for the same reason. */
function prettyLine(time: Date, level: LogLevel, message: string, writer: LogFields, fields: LogFields): string {
  const who = Object.values(writer).filter(value => value !== undefined);
  const parts = [
    time.toISOString().slice(11, 23),
    level.padEnd(5),
    `${oneLine(cut(who.join(' '), LOG_VALUE_CHARS_MAX))}:`,
    oneLine(cut(message, LOG_VALUE_CHARS_MAX)),
  ];
  let stack = '';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (value instanceof Error) {
      const {stack: frames, ...rest} = shownError(value);
      parts.push(`${name}=${oneLine(JSON.stringify(rest))}`);
      if (frames !== undefined) for (const frame of frames.split('\n')) stack += `  ${oneLine(frame)}\n`;
    } else {
      const text = shown(value, 1);
      parts.push(`${name}=${oneLine(typeof text === 'string' ? text : JSON.stringify(text))}`);
    }
  }
  return `${parts.join(' ')}\n${stack}`;
}

function shown(value: unknown, level: number): unknown {
  switch (typeof value) {
    case 'string':
      return cut(value, LOG_VALUE_CHARS_MAX);
    case 'bigint':
    case 'symbol':
    case 'function':
      return cut(String(value), LOG_VALUE_CHARS_MAX);
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (value instanceof Error) return shownError(value);
  if (level > LOG_FIELD_LEVELS_MAX) return '…';
  if (Array.isArray(value)) return value.slice(0, 32).map(item => shown(item, level + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 32)
      .map(([name, item]) => [cut(name, LOG_VALUE_CHARS_MAX), shown(item, level + 1)]),
  );
}

type ShownError = {name: string; message: string; code?: unknown; stack?: string; cause?: unknown};

function shownError(error: Error, causes = 0): ShownError {
  const {cause} = error;
  const code = 'code' in error ? error.code : undefined;
  return {
    name: error.name,
    message: cut(error.message, LOG_VALUE_CHARS_MAX),
    ...(code === undefined ? {} : {code: shown(code, LOG_FIELD_LEVELS_MAX)}),
    ...(error.stack === undefined ? {} : {stack: cut(error.stack, STACK_CHARS_MAX)}),
    ...(cause === undefined || causes === LOG_CAUSES_MAX
      ? {}
      : {cause: cause instanceof Error ? shownError(cause, causes + 1) : shown(cause, LOG_FIELD_LEVELS_MAX)}),
  };
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}… (${text.length} characters)`;
}

/** Terminal controls, line ends, and marks that reverse the direction of the text after them. */
function oneLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
