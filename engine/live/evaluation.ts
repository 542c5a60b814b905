/**
 * Evaluates a live query on a scan thread, and applies the commits made in the meantime to its result.
 *
 *   scanning ──last batch──▶ catching up ──no document left, long enough──▶ current
 *      ▲                          └── too short by now, or too much was written: scanned again
 *      └───────────────────────────────┘           any ── refused ──▶ failed
 *
 * The thread begins its snapshot after it receives the query. Every document written from then on is noted, up to
 * LIVE_CATCH_UP_DOCUMENTS_MAX. The noted documents are looked up in the newest snapshot, and added or removed. Adding a
 * document again that the thread already saw in its new version changes nothing. When none is left, at the end of a
 * slice in which nothing can be committed, the result is that of the newest commit.
 */
import {performance} from 'node:perf_hooks';
import {ServiceError} from '../../shared/errors.ts';
import {Side} from '../commit/commit.ts';
import {LIVE_CATCH_UP_DOCUMENTS_MAX, SCAN_INLINE_MS} from '../limits.ts';
import type {LiveScans} from '../reads/scan-pool.ts';
import type {Reader} from '../storage/reader.ts';
import type {LiveResult} from './live-result.ts';

export type EvaluationEvents = {
  /** The live query's entries are those of the newest commit. */
  current(): void;
  failed(error: ServiceError): void;
};

export class Evaluation {
  readonly #live: LiveResult;
  readonly #reader: Reader;
  readonly #scans: LiveScans;
  readonly #events: EvaluationEvents;
  /** Documents written since a thread received the scan; one more than the maximum means all documents. */
  readonly #written = new Set<number>();
  #giveUpScan: () => void = () => undefined;
  #isOver = false;

  constructor(live: LiveResult, reader: Reader, scans: LiveScans, events: EvaluationEvents) {
    this.#live = live;
    this.#reader = reader;
    this.#scans = scans;
    this.#events = events;
    this.#scan();
  }

  /** A commit wrote a document that can affect the result. */
  wrote(doc: number): void {
    if (this.#written.size <= LIVE_CATCH_UP_DOCUMENTS_MAX) this.#written.add(doc);
  }

  /** The query has no subscribers any more. */
  giveUp(): void {
    this.#isOver = true;
    this.#giveUpScan();
  }

  #scan(): void {
    this.#giveUpScan = this.#scans.live(this.#live.scan(), {
      // The scan may have waited for long: everything written until now is in its snapshot.
      begins: () => this.#written.clear(),
      batch: batch => this.#live.take(batch),
      end: isComplete => {
        if (this.#isOver) return;
        this.#live.taken(isComplete);
        this.#catchUp();
      },
      failed: error => {
        // The news can wait for a sync, and the query can be dropped meanwhile.
        if (this.#isOver) return;
        this.#isOver = true;
        this.#events.failed(error);
      },
    });
  }

  /** One slice of catching up. */
  #catchUp(): void {
    if (this.#isOver) return;
    if (this.#written.size > LIVE_CATCH_UP_DOCUMENTS_MAX) {
      this.#scan();
      return;
    }
    try {
      this.#lookUp();
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#isOver = true;
      this.#events.failed(caught);
      return;
    }
    if (this.#live.isStale) this.#scan();
    else if (this.#written.size > 0) setImmediate(() => this.#catchUp());
    else {
      this.#isOver = true;
      this.#events.current();
    }
  }

  #lookUp(): void {
    const endsMs = performance.now() + SCAN_INLINE_MS;
    this.#reader.inSnapshot();
    for (const doc of this.#written) {
      this.#written.delete(doc);
      const [row] = this.#reader.documents(doc, doc, false, 1);
      this.#live.write(doc, row === undefined ? null : new Side(row));
      if (performance.now() >= endsMs) return;
    }
  }
}
