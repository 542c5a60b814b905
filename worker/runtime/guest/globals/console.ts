/**
 * `console`: each call sends one line to the host, complete with its level. The number of lines is limited here, so
 * that a loop of calls costs nothing, and again by the host, which does not trust the realm.
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

/** Called before an invocation. */
export function resetConsole(): void {
  forgetLines();
  timers.clear();
}

/** For code without an end, such as a service, another component counts the lines. */
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
  // One character more than the host keeps, so that the host marks the line as cut.
  state.host(HostOp.log, cut(line, LOG_LINE_CHARS_MAX + 1));
}

/** The last permitted line says that there were more. */
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

/** The methods of `console`; each runtime installs them. */
export const consoleMethods = {
  log: (...values: unknown[]) => write('LOG', values),
  info: (...values: unknown[]) => write('INFO', values),
  warn: (...values: unknown[]) => write('WARN', values),
  error: (...values: unknown[]) => write('ERROR', values),
  debug: (...values: unknown[]) => write('DEBUG', values),
  trace: (...values: unknown[]) => {
    writeText('LOG', () => {
      const stack = String(new Error('trace').stack);
      // The frames below the message are ours; the caller's frames follow.
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
