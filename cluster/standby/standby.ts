/**
 * Keeps the file of one tenant at the tail of its log, while no worker of this host has it.
 *
 *   unknown ──find──▶ at a place ──step──▶ at the tail ──▶ a base of it, when one is due
 *      ▲                │  ▲ │ the log begins after it, or it is absent: `base_needed` ──seed──▶ at the place of a base
 *      │                │  │ └────────────────────────────────────────────────────────────────┘
 *      │ stop, resume   └──┘ the log has another history: the file is set aside, and is absent
 *
 * Invariants
 * - One operation is under way at a time, and the file is closed when it has ended. After `stop` none begins.
 * - A file is set aside once for one record: if the record cannot be applied to a new file either, the standby waits.
 */
import {CopyError} from '../../engine/copies/copy-error.ts';
import {unreachable} from '../../shared/assert.ts';
import {STANDBY_BYTES, STANDBY_ORDERS_IN_A_ROW, STANDBY_RECORDS} from '../limits.ts';
import type {Bases} from '../log/bases.ts';
import {withFetched} from '../log/fetched-body.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {TenantName} from '../log/subjects.ts';
import type {LogRecord, TenantLog} from '../log/tenant-log.ts';
import {beginWithBase} from '../owner/base-of-file.ts';
import {decodePlace, encodePlace} from '../owner/place.ts';
import {BasesDue} from './bases-due.ts';
import type {CopyRate} from './copy-rate.ts';
import type {FileInspection, FileState, FileTarget, FileWish, FileWork, OrderedRecord} from './file-order.ts';
import type {WrittenBase} from './new-base.ts';

export type StandbyParts = {
  readonly tenant: TenantName;
  readonly log: TenantLog;
  readonly bases: Bases;
  readonly files: FileWork;
  readonly target: FileTarget;
  /** Path of files that are there for a while, in a directory that no tenant can change. */
  readonly scratch: string;
  readonly rate: CopyRate;
  /** Of the log since the newest base, after which another one is due. Default: `BASE_LOG_BYTES`. */
  readonly baseLogBytes?: number | undefined;
  /** Receives a sentence about what an operator should know. */
  readonly report: (sentence: string) => void;
};

/** `more`: the file is not at the tail yet. `ended`: it was stopped. */
export type StandbyStep = 'current' | 'more' | 'base_needed' | 'ended';

/** The file cannot follow now; it is tried again later. The message is for people. */
export class StandbyError extends Error {
  override name = 'StandbyError';
}

/** An order was ended because the file is needed. */
class OrderEnded extends Error {}

export class Standby {
  readonly #parts: StandbyParts;
  /** Undefined: not known, because a worker may have changed the file. */
  #state: FileState | undefined;
  #tail: LogPosition | null = null;
  #openedBy: string | null = null;
  /** The newest record that was read. */
  #read = 0;
  /** A record up to this one has cost a file already. */
  #failedUpTo = 0;
  readonly #due: BasesDue;
  #running: Promise<unknown> | null = null;
  #end = new Int32Array(new SharedArrayBuffer(4));

  constructor(parts: StandbyParts) {
    this.#parts = parts;
    this.#due = new BasesDue(parts.baseLogBytes);
  }

  /** What the file has, as far as it is known. */
  get state(): FileState | null {
    return this.#state ?? null;
  }

  get tenant(): TenantName {
    return this.#parts.tenant;
  }

  /** The file is closed when it resolves, and a worker can open it. */
  async stop(): Promise<void> {
    Atomics.store(this.#end, 0, 1);
    while (this.#running !== null) await this.#running.catch(() => undefined);
    this.#state = undefined;
  }

  /** No worker has the file. */
  resume(): void {
    this.#end = new Int32Array(new SharedArrayBuffer(4));
  }

  get #isEnding(): boolean {
    return Atomics.load(this.#end, 0) !== 0;
  }

  /** Reads the log towards its tail, and applies what it reads. @throws StandbyError; LogError, EngineError */
  step(): Promise<StandbyStep> {
    return this.#exclusive(async () => {
      await this.#find();
      if (this.#tail === null && (await this.#parts.bases.list(this.tenant)).length > 0) return 'base_needed';
      try {
        return await this.#follow();
      } catch (error) {
        return await this.#stepAfter(error);
      }
    });
  }

  /** Begins with a base. @returns false: none that is listed is sound. @throws as `step` */
  seed(): Promise<boolean> {
    return this.#exclusive(async () => {
      await this.#find();
      const {tenant, bases, rate, scratch, report} = this.#parts;
      const metered = {
        list: (of: TenantName) => bases.list(of),
        read: (...of: Parameters<Bases['read']>) => rate.metered(bases.read(...of)),
      };
      const base = await beginWithBase(
        {bases: metered, tenant, report},
        {
          after: this.#tail,
          scratch,
          begin: (_, {position, openedBy}) => {
            const epoch = this.#tail?.epoch ?? 0;
            return this.#order({kind: 'seed', base: scratch, place: encodePlace(position, openedBy), epoch});
          },
        },
      );
      if (base === 'none') throw new LogError('behind', 'its log was trimmed, and no base is listed');
      return base !== 'damaged';
    });
  }

  get isBaseDue(): boolean {
    return this.#state !== undefined && this.#due.isDue(this.#tail, this.#state.bytes);
  }

  /** Writes a base of the file as it is. @param to path of a new file. @throws StandbyError; CopyError: the file is damaged */
  writeBase(to: string): Promise<WrittenBase | null> {
    return this.#exclusive(async () => {
      await this.#find();
      if (this.#tail === null) return null;
      const {place} = await this.#order({kind: 'write_base', to});
      return {...decodePlace(place!), path: to};
    });
  }

  /** @throws as `step` */
  inspect(wish: FileInspection): Promise<FileState | null> {
    // Only this standby writes the file.
    if (wish.kind === 'find' && this.#state !== undefined) return Promise.resolve(this.#state);
    return this.#exclusive(async () => {
      await this.#find();
      if (wish.kind !== 'find') await this.#order(wish);
      return this.#state ?? null;
    });
  }

  /** A base of the log is there: it has so many records. */
  baseStored(at: LogPosition): void {
    this.#due.stored(at.n, this.#tail);
  }

  async #exclusive<T>(work: () => Promise<T>): Promise<T> {
    while (this.#running !== null) await this.#running.catch(() => undefined);
    if (this.#isEnding) throw new OrderEnded();
    const running = work().finally(() => {
      this.#running = null;
    });
    this.#running = running;
    return running;
  }

  async #find(): Promise<void> {
    if (this.#state !== undefined) return;
    try {
      await this.#order({kind: 'find'});
    } catch (error) {
      if (!(error instanceof CopyError || error instanceof LogError)) throw error;
      await this.#setAside(`is damaged: ${error.message}`, 0);
    }
  }

  async #follow(): Promise<StandbyStep> {
    const batch: {records: OrderedRecord[]; bytes: number} = {records: [], bytes: 0};
    let applied: Promise<unknown> = Promise.resolve();
    let orders = 0;
    /** One order is under way while the next records are read. */
    const send = async (records: OrderedRecord[]) => {
      await applied;
      if (records.length === 0) return;
      orders++;
      applied = this.#order({kind: 'apply', records});
      applied.catch(() => undefined); // awaited before the next one
    };
    const sendBatch = () => {
      batch.bytes = 0;
      return send(batch.records.splice(0));
    };
    let isComplete = true;
    try {
      for await (const record of this.#parts.log.read(this.#tail)) {
        this.#read = record.position.n;
        if (record.head.parts.length > 0) {
          await sendBatch();
          await withFetched(record.body(), this.#parts.scratch, async () => {
            await send([{kind: 'pages', pages: this.#parts.scratch, place: this.#placeOf(record)}]);
            await applied;
          });
        } else {
          batch.records.push(await this.#ordered(record));
          batch.bytes += record.head.bodyBytes;
          if (batch.bytes > STANDBY_BYTES || batch.records.length === STANDBY_RECORDS) await sendBatch();
        }
        this.#due.read(record.head.bodyBytes);
        if (this.#isEnding || orders === STANDBY_ORDERS_IN_A_ROW) {
          isComplete = false;
          break;
        }
      }
      await sendBatch();
      await applied;
    } finally {
      // The reading can fail while an order is under way: the file is closed when it has ended.
      await applied.catch(() => undefined);
    }
    if (this.#isEnding) return 'ended';
    if (this.#tail !== null) await this.#due.learn(async () => (await this.#parts.bases.list(this.tenant)).at(-1));
    return isComplete ? 'current' : 'more';
  }

  async #ordered(record: LogRecord): Promise<OrderedRecord> {
    const parts: Buffer[] = [];
    for await (const part of record.body()) parts.push(part);
    const body = Buffer.concat(parts);
    const {kind} = record.head;
    if (kind === 'open') this.#openedBy = body.toString();
    const place = this.#placeOf(record);
    return kind === 'open' || kind === 'close' ? {kind, place} : {kind: 'pages', pages: body, place};
  }

  #placeOf({position}: LogRecord): string {
    return encodePlace(position, this.#openedBy ?? '');
  }

  async #stepAfter(error: unknown): Promise<StandbyStep> {
    if (error instanceof OrderEnded) return 'ended';
    if (error instanceof LogError && error.code === 'trimmed') return 'base_needed';
    const tail = this.#tail;
    // What was read and not applied is read again, with the notes of its owners.
    this.#state = undefined;
    if (error instanceof LogError && error.code === 'diverged' && tail !== null) {
      // The server that sent the records can have an older log than the leader.
      if ((await this.#parts.log.recordAt(tail)) !== 'other') throw error;
      await this.#setAside('has other commits than its log', tail.epoch);
      return 'more';
    }
    if (!(error instanceof CopyError)) throw error;
    if (this.#failedUpTo > (tail?.n ?? 0)) throw new StandbyError(`a record cannot be applied: ${error.message}`);
    this.#failedUpTo = this.#read;
    await this.#setAside(`cannot be continued: ${error.message}`, tail?.epoch ?? 0);
    return 'more';
  }

  async #setAside(why: string, epoch: number): Promise<void> {
    const directory = await this.#order({kind: 'set_aside', why: 'diverged', epoch}, true);
    this.#parts.report(`the file of ${this.tenant.id} ${why}. It is now in ${directory}, and a new one is made`);
  }

  async #order(wish: FileWish): Promise<FileState>;
  async #order(wish: FileWish, isAside: true): Promise<string | null>;
  async #order(wish: FileWish, isAside = false): Promise<FileState | string | null> {
    const {files, target, report} = this.#parts;
    const answer = await files.run({...target, ...wish, end: this.#end});
    switch (answer.kind) {
      case 'done': {
        const {state, aside} = answer;
        const place = state.place === null ? null : decodePlace(state.place);
        [this.#state, this.#tail, this.#openedBy] = [state, place?.position ?? null, this.#openedByAfter(wish, place)];
        if (isAside) return aside;
        if (aside !== null && wish.kind === 'apply') {
          report(
            `acknowledged commits of ${this.tenant.id} did not reach the log in time; a file with them is in ${aside}`,
          );
        } else if (aside !== null) {
          report(`the file of ${this.tenant.id} is older than its log, and is now in ${aside}`);
        }
        return state;
      }
      case 'ended':
        throw new OrderEnded();
      case 'unusable':
        throw new CopyError(answer.sentence);
      case 'no_space':
        throw new StandbyError('the disk is full');
      case 'failed':
        throw new StandbyError(answer.sentence);
      default:
        return unreachable(answer);
    }
  }

  /** While records are being applied, later ones have been read, and an `open` can be among them. */
  #openedByAfter(wish: FileWish, place: {openedBy: string} | null): string | null {
    return wish.kind === 'apply' ? this.#openedBy : (place?.openedBy ?? null);
  }
}
