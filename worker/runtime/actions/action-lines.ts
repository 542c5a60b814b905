/**
 * The console lines of an action and of what it calls. Whoever called it gets all of them, in order; its entry in the log has
 * its own alone, since what it calls has entries of its own. Together they are no more lines than one execution may write, and no more than LOG_CALL_CHARS_MAX of text: an action
 * that calls a talkative query a hundred times would otherwise be answered with a hundred times as much.
 */

import {LOG_OVERFLOW} from '../console-lines.ts';
import {LOG_LINES_MAX} from '../guest/limits.ts';
import {LOG_CALL_CHARS_MAX} from '../limits.ts';

export class ActionLines {
  readonly own: string[] = [];
  readonly all: string[] = [];
  #chars = 0;

  /** A line of its own: limited already. */
  add(line: string): void {
    this.own.push(line);
    this.#addToAll(line);
  }

  addNested(lines: readonly string[]): void {
    for (const line of lines) this.#addToAll(line);
  }

  #addToAll(line: string): void {
    if (this.all.at(-1) === LOG_OVERFLOW) return;
    this.#chars += line.length;
    const isFull = this.all.length === LOG_LINES_MAX - 1 || this.#chars > LOG_CALL_CHARS_MAX;
    this.all.push(isFull ? LOG_OVERFLOW : line);
  }
}
