/**
 * `console`: each call is one line for the host, complete with its level. The number of lines is bounded here, so that a loop
 * of calls costs nothing, and at the host, which trusts nobody.
 */

import {HostOp} from '../host-call.ts';
import {LOG_LINE_CHARS_MAX, LOG_LINES_MAX} from '../limits.ts';
import {cut} from '../primordials.ts';
import {state} from '../state.ts';
import {nowMs} from './clock.ts';
import {define} from './define.ts';
import {inspect} from './inspect.ts';

let lines = 0;
const timers = new Map<string, number>();

/** Before an invocation. */
export function resetConsole(): void {
  forgetLines();
  timers.clear();
}

/** Of code that has no end somebody else counts its lines. */
export function forgetLines(): void {
  lines = 0;
}

type Level = 'LOG' | 'INFO' | 'WARN' | 'ERROR' | 'DEBUG';

function write(level: Level, values: unknown[]): void {
  if (lines >= LOG_LINES_MAX - 1) overflow();
  else send(`[${level}] ${values.map(inspect).join(' ')}`);
}

function writeText(level: Level, text: () => string): void {
  if (lines >= LOG_LINES_MAX - 1) overflow();
  else send(`[${level}] ${text()}`);
}

function send(line: string): void {
  lines++;
  // One character beyond what the host keeps tells it to say that there was more.
  state.host(HostOp.log, cut(line, LOG_LINE_CHARS_MAX + 1));
}

/** The last line that there is room for says that there were more. */
function overflow(): void {
  if (lines === LOG_LINES_MAX - 1) {
    send(`[ERROR] Log overflow (maximum ${LOG_LINES_MAX}). Remaining log lines omitted.`);
  }
}

function elapsed(label: string, rest: unknown[]): void {
  const started = timers.get(label);
  if (started === undefined) writeText('WARN', () => `Timer '${label}' does not exist`);
  else writeText('INFO', () => [`${label}: ${nowMs() - started}ms`, ...rest.map(inspect)].join(' '));
}

/** `console`, as each runtime puts it in place. */
export const consoleMethods = {
  log: (...values: unknown[]) => write('LOG', values),
  info: (...values: unknown[]) => write('INFO', values),
  warn: (...values: unknown[]) => write('WARN', values),
  error: (...values: unknown[]) => write('ERROR', values),
  debug: (...values: unknown[]) => write('DEBUG', values),
  trace: (...values: unknown[]) => {
    writeText('LOG', () => {
      const stack = String(new Error('trace').stack);
      // Below the message are frames of ours, and then the caller's.
      const frames = stack.split('\n').filter(line => line.startsWith('    at ') && !line.includes('svc:realm'));
      return [`Trace: ${values.map(inspect).join(' ')}`.trimEnd(), ...frames].join('\n');
    });
  },
  time: (label: unknown = 'default') => {
    const name = String(label);
    if (timers.has(name)) writeText('WARN', () => `Timer '${name}' already exists`);
    else if (timers.size < LOG_LINES_MAX) timers.set(name, nowMs());
  },
  timeLog: (label: unknown = 'default', ...rest: unknown[]) => elapsed(String(label), rest),
  timeEnd: (label: unknown = 'default') => {
    elapsed(String(label), []);
    timers.delete(String(label));
  },
};

export function installConsole(): void {
  define(globalThis, 'console', {...consoleMethods});
}
