/** Where clients log, and how log lines and errors of functions are formatted. */

export interface Logger {
  log(...parts: unknown[]): void;
  warn(...parts: unknown[]): void;
  error(...parts: unknown[]): void;
}

/** False: nothing is logged. True or undefined: the console. */
export type LoggerOption = Logger | boolean | undefined;

export function loggerOf(option: LoggerOption): Logger {
  if (option === false) return {log() {}, warn() {}, error() {}};
  return typeof option === 'object' ? option : console;
}

/** Calls a function of the app. Its exception is logged, so that the other callbacks still run. */
export function guarded(logger: Logger, listener: () => void): void {
  try {
    listener();
  } catch (caught) {
    logger.error('A listener of a svc client failed:', caught);
  }
}

export type CallKind = 'query' | 'mutation' | 'action';

/** A function's failure, as its caller sees it. */
export function functionError(kind: CallKind, path: string, message: string): Error {
  return new Error(`${label(kind, path)} ${message}\n  Called by client`);
}

/** Logs the lines that the function wrote on the server, each at its level. */
export function echoLines(logger: Logger, kind: CallKind, path: string, lines: readonly string[] | undefined): void {
  for (const line of lines ?? []) {
    const [, level, text] = /^\[([A-Z]+)\] (.*)$/s.exec(line) ?? [];
    const say = level === 'ERROR' ? 'error' : level === 'WARN' ? 'warn' : 'log';
    logger[say](`${label(kind, path)} ${text ?? line}`);
  }
}

function label(kind: CallKind, path: string): string {
  return `[SVC ${kind[0]!.toUpperCase()}(${path})]`;
}
