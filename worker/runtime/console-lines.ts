/**
 * Limits the console lines of one execution in number and length; the last permitted line says that there were more.
 * (reference 11.3, check 66) The realm applies the same limits; this enforces them on code that has changed its realm's
 * console.
 */
import {LOG_LINE_CHARS_MAX, LOG_LINES_MAX} from './guest/limits.ts';

export const LOG_OVERFLOW = `[ERROR] Log overflow (maximum ${LOG_LINES_MAX}). Remaining log lines omitted.`;
const CUT = '… (truncated)';

export class ConsoleLines {
  readonly #write: (line: string) => void;
  #lines = 0;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  add(line: string): void {
    this.#lines++;
    if (this.#lines === LOG_LINES_MAX) this.#write(LOG_OVERFLOW);
    if (this.#lines >= LOG_LINES_MAX) return;
    this.#write(line.length > LOG_LINE_CHARS_MAX ? line.slice(0, LOG_LINE_CHARS_MAX).toWellFormed() + CUT : line);
  }
}
