/**
 * A host whose tenant commits into a log: a file, a writer and a commit group as a worker has them, without processes. A
 * kill leaves its files as they are at that moment; what was not synced can be missing.
 */
import {createHash} from 'node:crypto';
import {copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import Database from 'better-sqlite3';
import {EngineError} from '../../../cluster/log/log-engine.ts';
import {LogError} from '../../../cluster/log/log-error.ts';
import type {LogPosition} from '../../../cluster/log/record.ts';
import type {TenantName} from '../../../cluster/log/subjects.ts';
import {delay} from '../../../cluster/log/timing.ts';
import type {TenantBases} from '../../../cluster/owner/base-of-file.ts';
import {openFile} from '../../../cluster/owner/open-file.ts';
import {TenantAppender} from '../../../cluster/owner/tenant-appender.ts';
import type {DurabilityLag} from '../../../engine/commit/durability.ts';
import {CommitGroups} from '../../../engine/commit/group.ts';
import {insertEffect} from '../../../engine/commit/mutation.ts';
import {Writer} from '../../../engine/commit/writer.ts';
import {fileStateOf} from '../../../engine/copies/file-state.ts';
import type {Appender} from '../../../engine/replication/appender.ts';
import {LocalCommit} from '../../../engine/replication/local-commit.ts';
import {readPlace} from '../../../engine/replication/place-file.ts';
import {ReplicatedCommit} from '../../../engine/replication/replicated-commit.ts';
import {ReplicatedFile} from '../../../engine/replication/replicated-file.ts';
import {asideDirectories} from '../../../engine/replication/set-aside.ts';
import {Catalog} from '../../../engine/storage/catalog.ts';
import {storedCommitNumber} from '../../../engine/storage/commit-number.ts';
import {leaveSyncsToUs, openWriter} from '../../../engine/storage/database.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {createLogger} from '../../../shared/log.ts';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import {makeMemoryDirectory} from '../../harness/memory-directory.ts';
import type {Host, Rig} from './rig.ts';
import type {VirtualTime} from './virtual-time.ts';

const FILE = 'tenant.sqlite';
const TURNS_MAX = 5;
const OPENS_MAX = 1_000;
const log = createLogger({}, {write: () => undefined});
const never = () => new Promise<never>(() => undefined);

/** Of all writes that a file has. */
export function documentsOf(path: string): number[] {
  const db = new Database(path, {readonly: true});
  try {
    const bodies = db.prepare<[], string>('SELECT body FROM documents').pluck().all();
    return bodies.map(body => (JSON.parse(body) as {n: number}).n).sort((a, b) => a - b);
  } finally {
    db.close();
  }
}

/** The same for each run, and hardly shorter when it is compressed. */
function textOf(n: number, bytes: number): string {
  return createHash('shake256', {outputLength: bytes}).update(String(n)).digest('base64').slice(0, bytes);
}

/** What a client knows of its write. */
export type Known = 'acknowledged' | 'refused' | 'unknown';

export class ReplicatedHost {
  readonly #root = makeMemoryDirectory('svc-replicated-');
  readonly #path: string | null;
  readonly #rig: Rig;
  readonly #host: Host;
  readonly tenant: TenantName;
  readonly #ended: Owner[] = [];
  #lives = 0;
  readonly reports: string[] = [];
  freeBytes = Number.POSITIVE_INFINITY;
  /** Of the commits of an owner, until the place of the file is saved again. */
  placePages = 200;
  /** Null: the tenant is not open here. */
  owner: Owner | null = null;

  /** @param path of a file of this host; default: one of its own, in a directory for each life */
  constructor(rig: Rig, host: Host, tenant: TenantName, path: string | null = null) {
    this.#path = path;
    this.#rig = rig;
    this.#host = host;
    this.tenant = tenant;
    mkdirSync(this.#directory);
  }

  get #directory(): string {
    return join(this.#root, String(this.#lives));
  }

  get path(): string {
    return this.#path ?? join(this.#directory, FILE);
  }

  /** Numbers of the writes in files that were set aside, in all lives. */
  get aside(): Set<number> {
    const lives = readdirSync(this.#root).map(life => join(this.#root, life));
    const files = lives.flatMap(asideDirectories).map(directory => join(directory, FILE));
    return new Set(files.filter(existsSync).flatMap(documentsOf));
  }

  get bases(): TenantBases {
    const {bases} = this.#host.replicated;
    return {bases, tenant: this.tenant, report: sentence => this.reports.push(sentence)};
  }

  /**
   * Brings the file to the log and opens it for an epoch. Reads fail or are stale, so it goes on until they suffice.
   * @returns null: another epoch has begun
   */
  async bring(epoch: number): Promise<LogPosition | null> {
    const file = new ReplicatedFile(this.path, 0);
    const options = {epoch, note: `epoch ${epoch}`, ownerEnds: () => {}, bases: this.bases};
    try {
      for (let left = OPENS_MAX; ; left--) {
        try {
          const outcome = await openFile(this.#host.log(this.tenant), file, options);
          return outcome.kind === 'opened' ? outcome.position : null;
        } catch (error) {
          const isTemporary = error instanceof EngineError || (error instanceof LogError && error.code === 'behind');
          if (!isTemporary || left === 0) throw error;
          await delay(this.#rig.timing, 20);
        }
      }
    } finally {
      file.close();
    }
  }

  /** Serves the tenant. @param opened by `bring`. @returns false: another epoch has begun meanwhile */
  async serve(opened: LogPosition, random: () => number, localLagMs: number | null = null): Promise<boolean> {
    const tenantLog = this.#host.log(this.tenant);
    const appender = new TenantAppender({
      log: tenantLog,
      opened,
      note: `epoch ${opened.epoch}`,
      freeBytes: () => this.freeBytes,
    });
    const owner = new Owner(this.path, {rig: this.#rig, appender, random, localLagMs, placePages: this.placePages});
    this.owner = owner;
    return await owner.begin(readPlace(this.path));
  }

  /** The newest one that the file has, while it is served. */
  get commit(): number {
    return this.owner!.commit;
  }

  /** Age of the oldest commit that the log lacks. */
  get lagMs(): number {
    return this.owner!.lagMs;
  }

  /** `kill -9` of the worker. @param loses what was not synced */
  kill(loses = false): void {
    const {owner} = this;
    const from = dirname(this.path);
    this.#lives++;
    mkdirSync(this.#directory);
    for (const entry of readdirSync(from, {withFileTypes: true})) {
      const {name} = entry;
      if (entry.isFile() && !name.endsWith('-shm')) copyFileSync(join(from, name), join(this.#directory, name));
    }
    if (owner === null) return;
    if (loses) writeFileSync(`${this.path}-wal`, owner.syncedLog);
    owner.isDead = true;
    owner.onDeath();
    this.#ended.push(owner);
    this.owner = null;
  }

  /** @returns whether the log is closed */
  async close(): Promise<boolean> {
    const {owner} = this;
    if (owner === null) return false;
    const died = new Promise<false>(resolve => {
      owner.onDeath = () => resolve(false);
    });
    const isClosed = await Promise.race([owner.close(), died]);
    if (isClosed) this.owner = null;
    return isClosed;
  }

  async end(): Promise<void> {
    if (this.owner !== null) this.kill();
    // What a dead process has scheduled finds its file open.
    for (let turns = 0; turns < TURNS_MAX; turns++) await nextTurn();
    for (const owner of this.#ended) owner.release();
    rmSync(this.#root, {recursive: true});
  }
}

type OwnerParts = {
  rig: Rig;
  appender: TenantAppender;
  random: () => number;
  localLagMs: number | null;
  placePages: number;
};

class Owner {
  readonly #path: string;
  readonly #parts: OwnerParts;
  readonly #db;
  readonly #groups: CommitGroups;
  readonly #writer: Writer;
  #commit: ReplicatedCommit | LocalCommit | null = null;
  #onShorter: (() => void)[] = [];
  /** Of a commit that will not be in the log: the process ends. */
  onLost: (reason: string) => void = () => undefined;
  isDead = false;
  onDeath: () => void = () => undefined;
  /** The WAL as the newest sync found it. */
  syncedLog: Buffer;

  constructor(path: string, parts: OwnerParts) {
    this.#path = path;
    this.#parts = parts;
    this.#db = openWriter(path);
    this.#writer = new Writer(this.#db, Catalog.read(this.#db), Date.now);
    this.syncedLog = this.#logNow();
    leaveSyncsToUs(this.#db);
    this.#groups = new CommitGroups({
      writer: this.#writer,
      metrics: new WorkerMetrics(),
      log,
      stages: [],
      sync: done => this.#sync(done),
      durability: {
        refusal: pages => this.#commit!.refusal(pages),
        begin: (facts, events) => this.#commit!.begin(facts, events),
        beforeCheckpoint: () => this.#commit!.beforeCheckpoint(),
        lag: parts.localLagMs === null ? undefined : this.#lag(),
      },
    });
  }

  #lag(): DurabilityLag {
    const local = () => (this.#commit as LocalCommit | null)?.lag;
    return {
      get isPending() {
        return local()?.isPending === true;
      },
      get isTooLong() {
        return local()?.isTooLong === true;
      },
      whenShorter: then => this.#onShorter.push(then),
    };
  }

  get lagMs(): number {
    return this.#commit instanceof LocalCommit ? this.#commit.lagMs : 0;
  }

  get commit(): number {
    return storedCommitNumber(this.#db);
  }

  /** @returns whether the log has taken what the open has written */
  async begin(place: ReturnType<typeof readPlace>): Promise<boolean> {
    const {appender, localLagMs, rig, placePages} = this.#parts;
    const living = <T>(value: T): T | Promise<never> => (this.isDead ? never() : value);
    const whileAlive: Appender = {
      get freeBytes() {
        return appender.freeBytes;
      },
      append: async set => {
        const outcome = await living(await appender.append(set));
        return outcome.kind === 'unknown' ? {...outcome, decided: outcome.decided.then(living)} : outcome;
      },
    };
    try {
      const parts = {
        path: this.#path,
        file: fileStateOf(this.#db, this.#writer.head, this.#writer.nowMs()),
        place,
        appender: whileAlive,
        onLost: (reason: string, error?: unknown) => {
          if (!this.isDead) this.onLost(error === undefined ? reason : `${reason}: ${String(error)}`);
        },
        placePages,
      };
      if (localLagMs === null) this.#commit = await ReplicatedCommit.begin(parts);
      else {
        const {timing} = rig;
        const after = (ms: number, then: () => void) => void timing.after(ms, then);
        const local = await LocalCommit.begin({
          ...parts,
          lagMaxMs: localLagMs,
          nowMs: () => (timing as VirtualTime).nowMs,
          after,
        });
        for (const then of this.#onShorter) local.lag.whenShorter(then);
        this.#commit = local;
      }
      return true;
    } catch (error) {
      if (error instanceof Error && /^the log has (refused|full)/.test(error.message)) return false;
      throw error;
    }
  }

  /** Resolves when its client knows something, or the worker has ended. */
  write(n: number, bytes: number, settle: (known: Known) => void): void {
    this.#groups.submit({
      answersClient: true,
      run: insertEffect('t', {n, text: textOf(n, bytes)}),
      settle: outcome => {
        if (this.isDead) return;
        if (!(outcome instanceof ServiceError)) settle('acknowledged');
        else settle(outcome.code === 'session.outcome_unknown' ? 'unknown' : 'refused');
      },
    });
  }

  #sync(done: (error: Error | null) => void): void {
    const {rig, random} = this.#parts;
    const log = this.#logNow();
    rig.timing.after(random() * 10, () => {
      if (this.isDead) return;
      this.syncedLog = log;
      done(null);
    });
  }

  #logNow(): Buffer {
    const path = `${this.#path}-wal`;
    return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  }

  async close(): Promise<boolean> {
    await this.#groups.close();
    const {newest: commit} = this.#writer.numbers;
    const facts = {commit, sequence: this.#writer.head.sequence, timeMs: this.#writer.nowMs()};
    if (!(await this.#commit!.last(facts))) return false;
    if ((await this.#parts.appender.close()) === null) return false;
    this.#db.close();
    this.#commit?.close();
    return true;
  }

  /** After the test: a dead process has no handles. */
  release(): void {
    this.#db.close();
    this.#commit?.close();
  }
}
