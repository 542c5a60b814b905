/**
 * Shows the progress of a transfer on stderr: a bar on a terminal, otherwise a plain line every few seconds, so that
 * the log of a long run has a few lines and not thousands.
 */
import {SingleBar} from 'cli-progress';

const LINE_INTERVAL_MS = 5_000;
const MIB = 1024 * 1024;

export class Progress {
  readonly #isOfDocuments: boolean;
  readonly #verb: string;
  readonly #bytesTotal: number | null;
  readonly #startedMs = performance.now();
  readonly #bar: SingleBar | null;
  #lineMs = this.#startedMs;
  #documents = 0;
  #bytes = 0;

  /**
   * @param bytesTotal null if it is unknown: then there is no bar
   * @param isOfDocuments false: it is a file, in which nothing is counted
   */
  constructor(verb: string, bytesTotal: number | null, isOfDocuments = true) {
    this.#isOfDocuments = isOfDocuments;
    this.#verb = verb;
    this.#bytesTotal = bytesTotal;
    this.#bar = process.stderr.isTTY ? newBar(verb, bytesTotal, isOfDocuments) : null;
    this.#bar?.start(bytesTotal ?? 0, 0, this.#payload());
  }

  update(documents: number, bytes: number): void {
    this.#documents = documents;
    this.#bytes = bytes;
    if (this.#bar !== null) {
      this.#bar.update(bytes, this.#payload());
      return;
    }
    const now = performance.now();
    if (now - this.#lineMs < LINE_INTERVAL_MS) return;
    this.#lineMs = now;
    const share = this.#bytesTotal ? ` (${Math.floor((100 * bytes) / this.#bytesTotal)} %)` : '';
    const counted = this.#isOfDocuments ? `${documents} documents, ` : '';
    process.stderr.write(`${this.#verb}: ${counted}${(bytes / MIB).toFixed(1)} MiB${share}\n`);
  }

  stop(): void {
    this.#bar?.update(this.#bytes, this.#payload());
    this.#bar?.stop();
  }

  get seconds(): number {
    return (performance.now() - this.#startedMs) / 1000;
  }

  #payload(): {documents: number; mib: string; rate: number} {
    return {
      documents: this.#documents,
      mib: (this.#bytes / MIB).toFixed(1),
      rate: Math.round(this.#documents / Math.max(this.seconds, 0.001)),
    };
  }
}

/** "1,234 documents, 5.6 MiB in 7.8 s (158/s)" */
export function summary(documents: number, bytes: number, seconds: number): string {
  const rate = Math.round(documents / Math.max(seconds, 0.001));
  return `${documents} documents, ${(bytes / MIB).toFixed(1)} MiB in ${seconds.toFixed(1)} s (${rate}/s)`;
}

function newBar(verb: string, bytesTotal: number | null, isOfDocuments: boolean): SingleBar {
  const counts = isOfDocuments ? '{documents} documents, {mib} MiB, {rate}/s' : '{mib} MiB';
  return new SingleBar({
    stream: process.stderr,
    format:
      bytesTotal === null
        ? `${verb} ${counts}, {duration_formatted}`
        : `${verb} [{bar}] {percentage}% ${counts}, {eta_formatted} left`,
    barsize: 24,
    etaBuffer: 1_000,
    hideCursor: true,
  });
}
