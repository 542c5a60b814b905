/**
 * One line on a terminal that says what a slow command is doing, replaced by the next one. Writes nothing if stderr is
 * not a terminal.
 */
export type TerminalLike = {isTTY?: boolean; columns?: number; write(text: string): unknown};

const CLEAR_LINE = '\r\x1b[K';
const COLUMNS_DEFAULT = 80;

export class TransientLine {
  readonly #terminal: TerminalLike;
  #isShown = false;

  constructor(terminal: TerminalLike = process.stderr) {
    this.#terminal = terminal;
  }

  show(text: string): void {
    if (this.#terminal.isTTY !== true) return;
    // A wrapped line could not be cleared.
    const columns = this.#terminal.columns ?? COLUMNS_DEFAULT;
    this.#terminal.write(CLEAR_LINE + text.slice(0, columns - 1));
    this.#isShown = true;
  }

  clear(): void {
    if (this.#isShown) this.#terminal.write(CLEAR_LINE);
    this.#isShown = false;
  }
}
