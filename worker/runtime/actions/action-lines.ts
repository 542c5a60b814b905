/**
 * Collects the console lines of an action and of the functions that it calls. The caller of the action gets all of
 * them, in order. The action's log entry has only its own lines, because the functions have entries of their own.
 * Together they are limited to the number of lines of one execution and to LOG_CALL_CHARS_MAX of text. Otherwise an
 * action that calls a talkative query a hundred times would return a hundred times as many lines.
 */

import {LOG_OVERFLOW} from '../console-lines.ts';
import {LOG_LINES_MAX} from '../guest/limits.ts';
import {LOG_CALL_CHARS_MAX} from '../limits.ts';

export class ActionLines {
  readonly own: string[] = [];
  readonly all: string[] = [];
  #chars = 0;

  /** Adds the action's own line, which is already limited. */
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
