/**
 * Brings a tenant's closed file to the tail of its log.
 *
 *   absent ─▶ newest base, or the beginning of the log ─┐
 *   at a place ────────────────────────────────────────┴▶ the records behind it ─▶ at the tail
 *       ▲ │ the log begins after the place: a base        │ the log has another record there: the file is set aside
 *       └─┘                                     absent ◀──┘
 */
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import type {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {withBody} from '../log/fetched-body.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {LogRecord, TenantLog} from '../log/tenant-log.ts';
import {beginWithBase, type TenantBases} from './base-of-file.ts';
import {MergedSets} from './merged-sets.ts';
import {decodePlace, encodePlace} from './place.ts';

export class LogFollower {
  readonly #log: TenantLog;
  readonly #file: ReplicatedFile;
  readonly #bases: TenantBases;
  #isSetAside = false;
  /** As it was reported. */
  #aside: string | null = null;
  /** The newest record that the file has; null: it has nothing. */
  tail: LogPosition | null;
  /** Note of the newest `open` up to there. */
  openedBy: string | null;

  /** @throws LogError */
  constructor(log: TenantLog, file: ReplicatedFile, bases: TenantBases) {
    [this.#log, this.#file, this.#bases] = [log, file, bases];
    const from = file.place === null ? null : decodePlace(file.place);
    this.tail = from?.position ?? null;
    this.openedBy = from?.openedBy ?? null;
    file.epoch = from?.position.epoch ?? 0;
  }

  /** Reads up to the newest record. @throws LogError, EngineError; CopyError, PageSetError */
  async follow(): Promise<void> {
    if (this.tail === null) await this.#seed();
    for (;;) {
      try {
        await this.#readAll();
        return;
      } catch (error) {
        if (!(await this.#hasBegunAgain(error))) throw error;
      }
    }
  }

  /** The next record. */
  readonly apply = async (record: LogRecord): Promise<void> => {
    await this.#add(record, new MergedSets(this.#file, 1));
    this.#isAt(record.position);
  };

  async #readAll(): Promise<void> {
    const sets = new MergedSets(this.#file);
    let newest = this.tail;
    try {
      for await (const record of this.#log.read(this.tail)) {
        await this.#add(record, sets);
        newest = record.position;
        if (sets.isApplied) this.#isAt(newest);
      }
    } finally {
      const isLeft = !sets.isApplied;
      sets.apply();
      if (isLeft && newest !== null) this.#isAt(newest);
    }
  }

  /** The file has the record when all sets are applied. */
  async #add(record: LogRecord, sets: MergedSets): Promise<void> {
    const {kind, parts} = record.head;
    await withBody(record, this.#file.scratch, body => {
      if (kind === 'open') this.openedBy = body.read(0, body.length).toString();
      const place = encodePlace(record.position, this.openedBy ?? '');
      const isPassed = kind === 'open' || kind === 'close';
      // The file of a body that came in parts is there for this call only.
      if (isPassed || parts.length > 0) sets.apply();
      if (isPassed) this.#file.pass(kind, place);
      else if (parts.length > 0) this.#file.apply(new PageSet(body), place);
      else sets.add(new PageSet(body), place);
    });
  }

  #isAt(position: LogPosition): void {
    this.tail = position;
    this.#file.epoch = position.epoch;
    const {aside} = this.#file;
    if (aside === this.#aside) return;
    this.#aside = aside;
    const {report, tenant} = this.#bases;
    report(`acknowledged commits of ${tenant.id} did not reach the log in time; a file with them is in ${aside}`);
  }

  /** @returns whether the file now has another place than the one from which it cannot be continued */
  async #hasBegunAgain(error: unknown): Promise<boolean> {
    if (error instanceof LogError && error.code === 'trimmed') {
      const seed = await this.#seed();
      // A log is trimmed after its bases are listed, so the list was read too early.
      if (seed === 'none') throw new LogError('behind', `${error.message}, and no base is listed`);
      return seed === 'seeded';
    }
    if (this.tail === null || !(await this.#hasDiverged(error, this.tail))) return false;
    const bases = this.#bases;
    const directory = this.#file.setAside('diverged', this.tail.epoch);
    this.#isSetAside = true;
    bases.report(`the file of ${bases.tenant.id} has other commits than its log, and is now in ${directory}`);
    [this.tail, this.openedBy] = [null, null];
    await this.#seed();
    return true;
  }

  async #hasDiverged(error: unknown, tail: LogPosition): Promise<boolean> {
    if (this.#isSetAside || !(error instanceof LogError) || error.code !== 'diverged') return false;
    // The server that sent the records can have an older log than the leader.
    return (await this.#log.recordAt(tail)) === 'other';
  }

  async #seed(): Promise<'seeded' | 'none' | 'damaged'> {
    const [file, bases, after] = [this.#file, this.#bases, this.tail];
    const base = await beginWithBase(bases, {
      after,
      scratch: file.scratch,
      begin: (source, {position, openedBy}) => {
        const set = new PageSet(source);
        if (after !== null && !file.isCopy) {
          const directory = file.setAside('replaced', after.epoch);
          bases.report(`the file of ${bases.tenant.id} is older than its log, and is now in ${directory}`);
        }
        file.seed(set, encodePlace(position, openedBy));
      },
    });
    if (typeof base === 'string') return base;
    [this.tail, this.openedBy] = [base.position, base.openedBy];
    return 'seeded';
  }
}
