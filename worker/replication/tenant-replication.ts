/**
 * The log of the cluster as this worker's tenant uses it: brings the file to the log, opens the log, appends each commit,
 * and closes the log. Loaded only on a host of a cluster.
 *
 *   connect ──▶ bring (the file is closed) ──▶ the file is opened ──▶ begin ──▶ commits … ──▶ last ──▶ the file is closed ──▶ close
 */
import {existsSync, rmSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {EndpointClient} from '../../cluster/endpoint/endpoint-client.ts';
import type {LeaseNotice} from '../../cluster/endpoint/endpoint-message.ts';
import {RemoteEngine} from '../../cluster/endpoint/remote-engine.ts';
import {toWire} from '../../cluster/endpoint/wire-position.ts';
import {OPEN_RETRY_MS, READS_BEHIND_MAX} from '../../cluster/limits.ts';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import type {LogPosition} from '../../cluster/log/record.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import type {OpenOutcome, TenantLog} from '../../cluster/log/tenant-log.ts';
import {delay, REAL_TIMING} from '../../cluster/log/timing.ts';
import type {TenantBases} from '../../cluster/owner/base-of-file.ts';
import {openFile} from '../../cluster/owner/open-file.ts';
import {TenantAppender} from '../../cluster/owner/tenant-appender.ts';
import type {Durability, DurabilityLag} from '../../engine/commit/durability.ts';
import type {FileState} from '../../engine/copies/capture.ts';
import type {CommitFacts} from '../../engine/copies/captured-set.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {LocalCommit} from '../../engine/replication/local-commit.ts';
import {readPlace} from '../../engine/replication/place-file.ts';
import {ReplicatedCommit} from '../../engine/replication/replicated-commit.ts';
import {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {setAside} from '../../engine/replication/set-aside.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {syncDirectory} from '../../engine/storage/file-guard.ts';
import {beginJournal} from '../../engine/storage/journal-timeline.ts';
import {assert} from '../../shared/assert.ts';
import {ServiceError, unavailable} from '../../shared/errors.ts';
import type {LogGrant} from '../../shared/ipc/cluster.ts';
import type {EndpointKey} from '../../shared/ipc/egress.ts';
import type {Logger} from '../../shared/log.ts';
import {NEW_TENANT_FILE} from '../../shared/tenant-directory.ts';
import type {LeaseGate} from '../ipc/lease-gate.ts';
import {TenantPackages} from './tenant-packages.ts';

export type ReplicationParts = {
  readonly settings: LogGrant & EndpointKey;
  readonly generation: number;
  /** Of the tenant's file. */
  readonly path: string;
  readonly lease: LeaseGate;
  readonly log: Logger;
  /** The process must end. */
  readonly onLost: (reason: string, error?: unknown) => void;
};

type Brought = {
  readonly endpoint: EndpointClient;
  readonly log: TenantLog;
  readonly opened: LogPosition;
  /** As `ReplicatedFile.isWhole`. */
  readonly isWhole: boolean;
  readonly packages: TenantPackages;
};

export class TenantReplication {
  readonly #parts: ReplicationParts;
  readonly #brought: Brought;
  readonly #appender: TenantAppender;
  #freeBytes = Number.POSITIVE_INFINITY;
  #commit: ReplicatedCommit | LocalCommit | null = null;
  #local: LocalCommit | null = null;
  readonly #onShorter: (() => void)[] = [];

  /**
   * Resolves when the file, which no process has open, is at the tail of its log, and the log is open for this worker.
   * @throws session.worker_unavailable 503: another host owns the tenant; session.storage_full 507; LogError, CopyError
   */
  static async bring(parts: ReplicationParts): Promise<TenantReplication> {
    const {settings, generation, path, lease, onLost} = parts;
    let replication: TenantReplication | null = null;
    let free: number | null = null;
    const endpoint = await EndpointClient.connect(settings, {
      lease: ({untilMs, freeBytes}: LeaseNotice) => {
        lease.until(untilMs);
        free = freeBytes;
        replication?.has(freeBytes);
      },
      closed: () => onLost('the cluster process is gone'),
    });
    const {tenant: id, cluster} = settings;
    const tenant = {id, generation};
    const replicated = new ReplicatedLog(new RemoteEngine(endpoint), cluster);
    const log = replicated.tenant(tenant);
    const report = (sentence: string) => parts.log.error(sentence);
    const {outcome, isWhole} = await broughtFile(parts, log, endpoint, {bases: replicated.bases, tenant, report});
    if (outcome.kind !== 'opened') throw await refusal(endpoint, outcome);
    await endpoint.ask('done', {does: 'opened', position: toWire(outcome.position)});
    removeNewNote(path);
    const packages = new TenantPackages(endpoint, replicated.packages, tenant);
    replication = new TenantReplication(parts, {endpoint, log, opened: outcome.position, isWhole, packages});
    replication.has(free);
    return replication;
  }

  private constructor(parts: ReplicationParts, brought: Brought) {
    this.#parts = parts;
    this.#brought = brought;
    this.#appender = new TenantAppender({
      ...{log: brought.log, opened: brought.opened, note: parts.settings.note},
      freeBytes: () => this.#freeBytes,
      // Until the next notice, which comes with the lease.
      spend: bytes => {
        this.#freeBytes -= bytes;
      },
    });
    this.durability = {
      refusal: pages => this.#begun.refusal(pages),
      begin: (facts, events) => this.#begun.begin(facts, events),
      beforeCheckpoint: () => this.#begun.beforeCheckpoint(),
      lag: parts.settings.localLagMs === null ? undefined : this.#lag(),
    };
  }

  /** Of commits that are to come. */
  #lag(): DurabilityLag {
    const local = () => this.#local;
    return {
      get isPending() {
        return local()?.lag.isPending === true;
      },
      get isTooLong() {
        return local()?.lag.isTooLong === true;
      },
      whenShorter: then => this.#onShorter.push(then),
    };
  }

  get lease(): LeaseGate {
    return this.#parts.lease;
  }

  /** In the store of the cluster. */
  get packages(): TenantPackages {
    return this.#brought.packages;
  }

  /** Space of the log. Null: no limit is known. */
  has(freeBytes: number | null): void {
    this.#freeBytes = freeBytes ?? Number.POSITIVE_INFINITY;
  }

  /** The file is open, and its journal is not read yet. @throws op.storage_damaged 503 */
  opened(db: Connection): void {
    const {note, localLagMs} = this.#parts.settings;
    // "<host>.<incarnation>"
    const [host] = note.split('.');
    beginJournal(db, {host: host!, isLocal: localLagMs !== null, isWhole: this.#brought.isWhole});
  }

  /** Resolves when the log has what the open of the file has written. @param file what it says about itself now */
  async begin(file: FileState): Promise<void> {
    const {path, onLost} = this.#parts;
    const {localLagMs: lagMaxMs} = this.#parts.settings;
    const commits = {path, file, place: readPlace(path), appender: this.#appender, onLost};
    if (lagMaxMs === null) this.#commit = await ReplicatedCommit.begin(commits);
    else this.#commit = this.#local = await LocalCommit.begin({...commits, lagMaxMs, nowMs: () => performance.now()});
    for (const then of this.#onShorter) this.#local?.lag.whenShorter(then);
  }

  /** For the commit group, which makes no commit before `begin`. */
  readonly durability: Durability;

  /** Age of the oldest commit that the log lacks, with `--ack local`. */
  get lagMs(): number {
    return this.#local?.lagMs ?? 0;
  }

  /** Appends a commit that was made outside of groups and is on disk. @returns whether the log has it */
  last(facts: CommitFacts): Promise<boolean> {
    return this.#begun.last(facts);
  }

  /** The file is closed: closes the log, so that the next owner need not wait for a lease. */
  async close(): Promise<void> {
    const place = await this.#appender.close();
    this.#begun.close(place);
    this.#brought.endpoint.close();
  }

  get #begun(): ReplicatedCommit | LocalCommit {
    assert(this.#commit !== null, 'the log is open before the tenant writes');
    return this.#commit;
  }
}

/** Tries again while the log does not answer, or a read has missed its newest records. */
async function broughtFile(
  {settings, path, log: lines}: ReplicationParts,
  log: TenantLog,
  endpoint: EndpointClient,
  bases: TenantBases,
): Promise<{outcome: OpenOutcome; isWhole: boolean}> {
  const {epoch, note} = settings;
  let file: ReplicatedFile | null = null;
  let isAside = false;
  let behind = 0;
  try {
    for (;;) {
      try {
        file ??= new ReplicatedFile(path, Date.now());
        const outcome = await openFile(log, file, {
          epoch,
          note,
          bases,
          ownerEnds: async ({openedBy, tail}) => {
            await endpoint.ask('done', {does: 'await_owner', openedBy, tail: toWire(tail)});
          },
        });
        return {outcome, isWhole: file.isWhole};
      } catch (error) {
        if (!isAside && existsSync(path) && cannotContinue(error)) {
          isAside = true;
          // What was acknowledged is in the log, and nothing of the file is removed.
          file?.close();
          file = null;
          const directory = setAside(path, 'diverged', epoch);
          lines.error('the file does not continue its log: it was set aside, and is made again', {directory, error});
          continue;
        }
        const isBehind = error instanceof LogError && error.code === 'behind';
        if (!(isBehind || error instanceof EngineError)) throw error;
        behind = isBehind ? behind + 1 : 0;
        if (behind === READS_BEHIND_MAX) {
          lines.error('the log ends before the file: what it has lost is appended from the file', {error});
          await endpoint.ask('done', {does: 'behind'});
          throw unavailable('the log of the tenant is being completed; try again');
        }
        lines.debug('the log cannot be opened yet', {error});
        await delay(REAL_TIMING, OPEN_RETRY_MS);
      }
    }
  } finally {
    file?.close();
  }
}

/** The file is damaged, or has another history than the log. */
function cannotContinue(error: unknown): boolean {
  const isOfFile = error instanceof CopyError || error instanceof PageSetError;
  return isOfFile || (error instanceof LogError && error.code === 'diverged');
}

async function refusal(
  endpoint: EndpointClient,
  outcome: Exclude<OpenOutcome, {kind: 'opened'}>,
): Promise<ServiceError> {
  switch (outcome.kind) {
    case 'superseded':
      await endpoint.ask('done', {does: 'superseded', epoch: outcome.epoch});
      return unavailable('another host of the cluster serves the tenant by now; try again');
    case 'full':
      await endpoint.ask('done', {does: 'full'});
      return new ServiceError('session.storage_full', "the cluster's log is full: free space in it and try again");
    default:
      return unavailable('the tenant was not opened; try again');
  }
}

/** The file has come from the log, so it is not to be made. */
function removeNewNote(path: string): void {
  const note = join(dirname(path), NEW_TENANT_FILE);
  if (!existsSync(path) || readPlace(path) === null || !existsSync(note)) return;
  rmSync(note);
  syncDirectory(dirname(path));
}
