/**
 * Reads all data of a tenant periodically, so that damage is found before a client needs the damaged data. It runs a
 * slice of SLICE_MS every SCRUB_PAUSE_MS while the tenant is awake, and one pass every SCRUB_PERIOD_MS. It neither
 * wakes a tenant nor keeps one awake. Its position is stored, so the scrub also gets through a tenant that is only
 * awake for moments.
 *
 *   open ──▶ all of a small tenant, before it serves
 *   resting ──due──▶ passing ──slice──▶ passing … ──▶ resting
 *
 * A damaged row is reported (reads of it are refused anyway). An index is derived from documents, so one that disagrees
 * with them is rebuilt, and not used until then. Any other damage stops the tenant.
 */
import {performance} from 'node:perf_hooks';
import {assert} from '../../shared/assert.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {BackgroundWrites} from '../commit/background.ts';
import type {Writer} from '../commit/writer.ts';
import {
  ROW_CHECKSUMS_A_SLICE,
  SCRUB_FIRST_DOCUMENTS_MAX,
  SCRUB_FIRST_MS,
  SCRUB_PAUSE_MS,
  SCRUB_PERIOD_MS,
  SCRUB_REMEMBER_SLICES,
  SLICE_MS,
} from '../limits.ts';
import {addIndexes, dropIndexes} from '../schema/install.ts';
import {documentChecksum} from '../storage/checksum.ts';
import {isEngineDamage, placeOf, reportDamage} from '../storage/damage.ts';
import {addMissingChecksums, type FilledKind} from '../storage/missing-checksums.ts';
import type {Reader} from '../storage/reader.ts';
import type {ScrubFinding, ScrubPass, ScrubPosition} from './scrub-pass.ts';

const META_KEY = 'scrub';
const START: ScrubPosition = {phase: 'documents', doc: 0};

/** In `meta`, as JSON. `sinceMs`: when the file was first scrubbed, which is its age as long as no pass has ended. */
type Remembered = {position: ScrubPosition; sinceMs: number; completedMs: number | null; findings: number};

export type ScrubParts = {
  pass: ScrubPass;
  reader: Reader;
  writer: Writer;
  background: BackgroundWrites;
  metrics: WorkerMetrics;
  clock: () => number;
  /** An index needs to be filled. */
  onRebuild: () => void;
  /** The tenant cannot be served from this file. */
  onStructure: (finding: string) => never;
};

export class Scrub {
  readonly #parts: ScrubParts;
  #state: Remembered;
  /** The same position as in the file. */
  #stored: string;
  #findings = 0;
  #slices = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Not on disk yet. */
  #writes = 0;

  constructor(parts: ScrubParts) {
    this.#parts = parts;
    parts.metrics.measure('svc_scrub_findings', () => this.#found);
    parts.metrics.measure('svc_scrub_age_seconds', () => this.#ageSeconds);
    this.#stored = String(parts.writer.statements.meta.get(META_KEY) ?? '');
    this.#state = parse(this.#stored) ?? {
      position: {phase: 'done'},
      sinceMs: parts.clock(),
      completedMs: null,
      findings: 0,
    };
  }

  /** Seconds since the last whole pass ended. */
  get #ageSeconds(): number {
    return Math.max(0, this.#parts.clock() - (this.#state.completedMs ?? this.#state.sinceMs)) / 1000;
  }

  /** The findings of the last whole pass, and of the current one. */
  get #found(): number {
    return Math.max(this.#state.findings, this.#findings);
  }

  /** Runs before the tenant serves: the whole pass, if the tenant is small. Resolves when its repairs are on disk. */
  async first(): Promise<void> {
    let documents = 0;
    for (const table of this.#parts.writer.catalog.tables()) documents += table.lastN;
    if (documents <= SCRUB_FIRST_DOCUMENTS_MAX) {
      const before = this.#state.position;
      this.#state.position = START;
      await this.#settle(this.#parts.pass.counts(), []);
      await this.#slice(SCRUB_FIRST_MS);
      if (this.#state.position.phase !== 'done' && before.phase !== 'done') this.#state.position = before;
    }
    this.#timer = setInterval(() => void this.#tick(), SCRUB_PAUSE_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Runs at the close, outside of a group: stores the position, unless it is unchanged. */
  remember(): void {
    if (!this.#isWorthWriting()) return;
    const text = JSON.stringify(this.#state);
    this.#parts.writer.statements.setMeta.run(META_KEY, text);
    this.#stored = text;
  }

  async #tick(): Promise<void> {
    if (this.#writes > 0) return;
    const {position, completedMs} = this.#state;
    if (position.phase === 'done') {
      if (completedMs !== null && this.#parts.clock() - completedMs < SCRUB_PERIOD_MS) return;
      this.#findings = 0;
      this.#state.position = START;
    }
    await this.#slice(SLICE_MS);
    if (++this.#slices % SCRUB_REMEMBER_SLICES === 0 && this.#isWorthWriting())
      await this.#write(() => this.remember());
  }

  async #slice(mostMs: number): Promise<void> {
    const {reader, metrics, clock, onStructure} = this.#parts;
    const ends = performance.now() + mostMs;
    const found: ScrubFinding[] = [];
    const unsummed: number[] = [];
    let rows: FilledKind | null = null;
    reader.inSnapshot();
    try {
      do {
        const {phase} = this.#state.position;
        const step = this.#parts.pass.step(this.#state.position);
        if (step.checked > 0) metrics.add('svc_scrub_checked_total', step.checked, {kind: phase});
        found.push(...step.findings);
        unsummed.push(...step.unsummed);
        this.#state.position = step.next;
        rows = step.unsummedRows;
      } while (rows === null && this.#state.position.phase !== 'done' && performance.now() < ends);
    } catch (caught) {
      if (!isEngineDamage(caught)) throw caught;
      onStructure(`${(caught as Error).message}, found while reading all of it`);
    }
    this.#findings += found.length;
    if (this.#state.position.phase === 'done') {
      this.#state.completedMs = clock();
      this.#state.findings = this.#findings;
      this.#findings = 0;
    }
    await this.#settle(found, unsummed);
    if (rows !== null) await this.#write(({db}) => addMissingChecksums(db, rows, ROW_CHECKSUMS_A_SLICE));
  }

  async #settle(found: readonly ScrubFinding[], unsummed: readonly number[]): Promise<void> {
    const broken = new Map<number, ScrubFinding & {of: 'index'}>();
    for (const finding of found) {
      reportDamage(finding.damage);
      if (finding.of === 'structure') this.#parts.onStructure(placeOf(finding.damage));
      if (finding.of === 'index') broken.set(finding.index.number, finding);
    }
    for (const {table: read, index: found} of broken.values()) {
      await this.#write(writer => {
        const table = writer.catalog.tableByNumber(read.number);
        const index = table?.indexes.find(({number}) => number === found.number);
        if (table === undefined || index?.state !== 'enabled') return; // dropped in the meantime
        const {name, fields, isUnique: unique} = index;
        dropIndexes(writer, table, other => other.number === index.number);
        addIndexes(writer, table, [{name, fields, unique}]);
      });
    }
    if (broken.size > 0) this.#parts.onRebuild();
    if (unsummed.length > 0) await this.#write(writer => addChecksums(writer, unsummed));
  }

  /**
   * Resolves when it is on disk, or postponed, because a full disk must not block an open. Until it is on disk, no
   * slice runs.
   */
  #write(change: (writer: Writer) => void): Promise<void> {
    this.#writes++;
    return new Promise(resolve => {
      void this.#parts.background.perform('what the scrub writes', change, resolve).then(() => {
        this.#writes--;
        assert(this.#writes >= 0, 'a write of the scrub ends once');
        resolve();
      });
    });
  }

  /** A tenant that only serves reads is not written after every pass without findings. */
  #isWorthWriting(): boolean {
    const stored = parse(this.#stored);
    if (stored === null) return this.#parts.writer.head.sequence > 0;
    if (this.#state.position.phase !== 'done' || stored.position.phase !== 'done') {
      return JSON.stringify(this.#state) !== this.#stored;
    }
    const olderMs = (this.#state.completedMs ?? 0) - (stored.completedMs ?? 0);
    return this.#state.findings !== stored.findings || olderMs >= SCRUB_PERIOD_MS / 2;
  }
}

function parse(text: string): Remembered | null {
  if (text === '') return null;
  try {
    return JSON.parse(text) as Remembered;
  } catch {
    return null; // damaged: the pass starts again
  }
}

/** Makes the current documents the reference for later checks. */
function addChecksums(writer: Writer, docs: readonly number[]): void {
  for (const doc of docs) {
    const row = writer.statements.documentByDoc.get(doc);
    if (row !== undefined && row.checksum === null) writer.statements.setChecksum.run(documentChecksum(row), doc);
  }
}
