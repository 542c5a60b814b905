/**
 * The memory that the serving thread shares with the capture thread of its tenant. The serving thread publishes the
 * newest durable commit, the capture thread how far it has taken the log.
 *
 *   serving thread ── durable commit (number, sequence, time), requests ──▶ capture thread
 *                  ◀── newest commit taken ──────────────────────────────
 *
 * The durable commit is three numbers that belong together: their version is odd while they change, and a reader tries
 * again until it has read one version.
 */
import type {CommitFacts} from './captured-set.ts';

const [VERSION, COMMIT, SEQUENCE, TIME_MS, TAKEN, WAKE, REQUESTED, IDLE, STATE] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;
const CELLS = 9;
const ENDED = 1n;

/** The capture ends: the log may be changed from now on, so nothing that was read of it is used any more. */
export class CaptureEnded extends Error {
  override name = 'CaptureEnded';
}

export class CaptureLink {
  readonly memory: SharedArrayBuffer;
  readonly #cells: BigInt64Array;

  /** @param memory of the other thread; undefined: this is the first */
  constructor(memory = new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#cells = new BigInt64Array(memory);
  }

  /* ── serving thread ── */

  /** These facts are of the newest durable commit. */
  publish({commit, sequence, timeMs}: CommitFacts): void {
    const cells = this.#cells;
    Atomics.add(cells, VERSION, 1n);
    Atomics.store(cells, COMMIT, BigInt(commit));
    Atomics.store(cells, SEQUENCE, BigInt(sequence));
    Atomics.store(cells, TIME_MS, BigInt(timeMs));
    Atomics.add(cells, VERSION, 1n);
    // An idle thread begins the time after which it takes this commit and those that follow.
    if (Atomics.load(cells, IDLE) === 1n) this.#wake();
  }

  /** The commits are to be taken now. */
  request(): void {
    Atomics.store(this.#cells, REQUESTED, 1n);
    this.#wake();
  }

  /** Blocks for a while, unless the capture has ended. @returns whether everything up to this commit has been taken */
  waitTaken(commit: number, ms: number): boolean {
    const endsAt = performance.now() + ms;
    for (;;) {
      const taken = Atomics.load(this.#cells, TAKEN);
      if (taken >= BigInt(commit)) return true;
      const leftMs = this.hasEnded ? 0 : endsAt - performance.now();
      if (leftMs <= 0) return false;
      Atomics.wait(this.#cells, TAKEN, taken, leftMs);
    }
  }

  /** From now on the capture finishes nothing, so the log may be changed. Either thread calls it. */
  end(): void {
    Atomics.store(this.#cells, STATE, ENDED);
    Atomics.notify(this.#cells, TAKEN);
    this.#wake();
  }

  #wake(): void {
    Atomics.add(this.#cells, WAKE, 1n);
    Atomics.notify(this.#cells, WAKE);
  }

  /* ── capture thread ── */

  get durable(): CommitFacts {
    const cells = this.#cells;
    for (;;) {
      const version = Atomics.load(cells, VERSION);
      const [commit, sequence, timeMs] = [COMMIT, SEQUENCE, TIME_MS].map(at => Number(Atomics.load(cells, at)));
      if (version % 2n === 0n && Atomics.load(cells, VERSION) === version) {
        return {commit: commit!, sequence: sequence!, timeMs: timeMs!};
      }
    }
  }

  /** Everything up to this commit has been read, so a checkpoint can move it. */
  taken(commit: number): void {
    Atomics.store(this.#cells, TAKEN, BigInt(commit));
    Atomics.notify(this.#cells, TAKEN);
  }

  /** Whether commits were requested since the last call. */
  takeRequest(): boolean {
    return Atomics.exchange(this.#cells, REQUESTED, 0n) === 1n;
  }

  /** Changes with each call of the other thread that ends a `sleep`. */
  get wakes(): bigint {
    return Atomics.load(this.#cells, WAKE);
  }

  /** @param wakes before it was decided to sleep @param idleAt a commit other than this one ends it; null: none does */
  sleep(wakes: bigint, ms: number, idleAt: number | null): void {
    Atomics.store(this.#cells, IDLE, idleAt === null ? 0n : 1n);
    // It may have been published before the other thread could see that this one is idle.
    if (idleAt === null || Atomics.load(this.#cells, COMMIT) === BigInt(idleAt)) {
      Atomics.wait(this.#cells, WAKE, wakes, ms);
    }
    Atomics.store(this.#cells, IDLE, 0n);
  }

  get hasEnded(): boolean {
    return Atomics.load(this.#cells, STATE) === ENDED;
  }

  /** Call it between reading the log and using what was read. @throws CaptureEnded */
  readonly checkGoesOn = (): void => {
    if (this.hasEnded) throw new CaptureEnded();
  };
}
