/**
 * Asks the other hosts, before a tenant is opened here, whether a file of theirs has records that its log has lost, and has
 * them appended again. Each host answers the same for the files that no worker of it has.
 *
 *   open ──▶ all hosts are asked ─ ─ ─ ─ ─ ─ ─ ┐ meanwhile the worker starts, and reads the log
 *                                              ▼
 *   the worker appends `open` ──▶ a file is ahead of what it has read ──▶ its host gives back ──▶ the append is refused,
 *                                    └─ none: appended                                            and the worker reads on
 *
 * Only hosts that answer in time count. One that has answered, and then fails to give back, delays the open until it has, or
 * does not answer any more. A worker whose own file is ahead ends, and its file gives back before the next one starts.
 */
import {join} from 'node:path';
import Type from 'typebox';
import Value from 'typebox/value';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {FILE_ASK_MS, FILE_ASK_SILENT_MS, GIVE_BACK_POLL_MS, HOSTS_MAX, MEMBER_SILENT_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import {type TenantName, tokenOf} from '../log/subjects.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import type {Members} from '../members/members.ts';
import type {NatsEngine} from '../nats/nats-engine.ts';
import {type MemberFile, newestAhead, type Restored, restoreLostTail} from '../owner/lost-tail.ts';
import {decodePlace, encodePlace} from '../owner/place.ts';
import type {FileInspection, FileState} from '../standby/file-order.ts';

export type LostTailsParts = {
  readonly hosts: Pick<NatsEngine, 'askHost'>;
  readonly replicated: Pick<ReplicatedLog, 'tenant' | 'bases'>;
  readonly members: Pick<Members, 'all'>;
  readonly clock: Clock;
  /** Name of this host. */
  readonly host: string;
  /** Null: there is none, or a worker has it. */
  readonly inspect: (tenant: TenantName, wish: FileInspection, isHeld?: boolean) => Promise<FileState | null>;
  /** A directory that no tenant can change. */
  readonly scratch: string;
  readonly signal: AbortSignal;
  readonly report: (sentence: string) => void;
};

const Shown = Type.Object({place: Type.String({maxLength: 4_096}), commit: Type.Integer({minimum: 0})});
const Named = Type.Object({host: Type.String({maxLength: 32}), ...Shown.properties});
const OfTenant = {tenant: Type.String({maxLength: 128}), generation: Type.Integer({minimum: 0})};
const HostRequest = Type.Union([
  Type.Object({does: Type.Literal('file'), ...OfTenant}),
  Type.Object({does: Type.Literal('give_back'), ...OfTenant, others: Type.Array(Named, {maxItems: HOSTS_MAX})}),
]);
const OUTCOMES = ['nothing_lost', 'appended', 'refused', 'full', 'abandoned', 'failed', 'working'] as const;
const Given = Type.Object({is: Type.Union(OUTCOMES.map(outcome => Type.Literal(outcome)))});

const FIND = {kind: 'find'} as const;

type Outcome = Restored | 'failed';

export class LostTails {
  readonly #parts: LostTailsParts;
  /** Tenants whose worker found that the log ends before its file. */
  readonly #behind = new Set<string>();
  /** What is being given back here. */
  readonly #giving = new Map<string, {readonly own: MemberFile; readonly outcome: Promise<Outcome>}>();

  constructor(parts: LostTailsParts) {
    this.#parts = parts;
  }

  /** Files of the other hosts. */
  async ask({id, generation}: TenantName): Promise<MemberFile[]> {
    const {hosts, members, host} = this.#parts;
    const request = {does: 'file', tenant: id, generation};
    const answers = members
      .all()
      .filter(other => other.host !== host)
      .map(async ({host: other, silentMs}) => {
        const withinMs = silentMs < MEMBER_SILENT_MS ? FILE_ASK_MS : FILE_ASK_SILENT_MS;
        const answer = await hosts.askHost(other, request, withinMs).catch(() => null);
        return Value.Check(Shown, answer) ? fileIn({host: other, ...answer}) : null;
      });
    return (await Promise.all(answers)).filter(file => file !== null);
  }

  /** The worker of the tenant ends: the log ends before its file. */
  foundBehind(tenant: TenantName): void {
    this.#behind.add(tokenOf(tenant));
  }

  /** No worker has the file, and one is to get it. */
  async beforeGrant(tenant: TenantName, otherFiles: Promise<readonly MemberFile[]>): Promise<void> {
    const {replicated, inspect, host} = this.#parts;
    if (!this.#behind.delete(tokenOf(tenant))) return;
    try {
      const [state, others] = [await inspect(tenant, FIND, true), await otherFiles];
      const own = ownFile(host, state);
      if (own === null) return;
      const all = [{...own, isKnownAhead: true}, ...others];
      const newest = newestAhead(all, await replicated.tenant(tenant).tail());
      if (newest?.host === host) await this.#give(tenant, own, all, true);
      else if (newest !== null) await this.#givenBack(tenant, newest, others);
    } catch (error) {
      if (!(error instanceof EngineError || error instanceof LogError || error instanceof CopyError)) throw error;
      this.#parts.report(`the log of ${tenant.id} is not complete yet: ${error.message}`);
    }
  }

  /** The log is opened behind this record. @throws EngineError: it cannot be opened yet */
  async beforeOpen(
    tenant: TenantName,
    otherFiles: Promise<readonly MemberFile[]>,
    tail: LogPosition | null,
  ): Promise<void> {
    for (let files = await otherFiles; ; ) {
      const newest = newestAhead(files, tail);
      if (newest === null || (await this.#givenBack(tenant, newest, files))) return;
      files = files.filter(({host}) => host !== newest.host);
    }
  }

  /** Of another host. @returns null: there is nothing to say */
  async answer(request: unknown): Promise<unknown> {
    if (!Value.Check(HostRequest, request)) return null;
    const {inspect, host, clock} = this.#parts;
    const tenant = {id: request.tenant, generation: request.generation};
    const token = tokenOf(tenant);
    // Nothing looks at a file while it is read for this, and an answer that is late would not count.
    const own = this.#giving.get(token)?.own ?? ownFile(host, await inspect(tenant, FIND));
    if (own === null) return null;
    if (request.does === 'file') {
      const {place, commit} = shownOf(own);
      return {place, commit};
    }
    const all = [...request.others.map(fileIn), own].filter(file => file !== null);
    const outcome = this.#giving.get(token)?.outcome ?? this.#give(tenant, own, all, false);
    const working = delay(clock, FILE_ASK_MS / 2).then(() => 'working' as const);
    return {is: await Promise.race([outcome, working])};
  }

  /** @returns false: the host does not answer any more. @throws EngineError: it could not give back what it has */
  async #givenBack(tenant: TenantName, file: MemberFile, files: readonly MemberFile[]): Promise<boolean> {
    const {hosts, clock, signal} = this.#parts;
    const {id, generation} = tenant;
    const others = files.filter(({host}) => host !== file.host).map(shownOf);
    const request = {does: 'give_back', tenant: id, generation, others};
    for (; !signal.aborted; await delay(clock, GIVE_BACK_POLL_MS)) {
      const answer = await hosts.askHost(file.host, request, FILE_ASK_MS);
      if (!Value.Check(Given, answer) || answer.is === 'abandoned') return false;
      if (answer.is === 'full' || answer.is === 'failed') {
        throw new EngineError(`the host ${file.host} could not append what the log has lost: ${answer.is}`);
      }
      if (answer.is !== 'working') return true;
    }
    return false;
  }

  /** From the file of this host. @param isHeld it is held for a worker that is to start */
  #give(tenant: TenantName, own: MemberFile, files: readonly MemberFile[], isHeld: boolean): Promise<Outcome> {
    const {replicated, host, inspect, scratch, signal, report} = this.#parts;
    const token = tokenOf(tenant);
    const outcome = restoreLostTail({
      log: replicated.tenant(tenant),
      bases: {bases: replicated.bases, tenant, report},
      files: {
        of: async () => files,
        fetch: async (file, to) => {
          const state = file.host === host ? await inspect(tenant, {kind: 'write_newest', to}, isHeld) : null;
          if (state === null) throw new CopyError('the newest file is in use, or of another host');
        },
      },
      scratch: join(scratch, `${token}.lost`),
      signal,
    })
      .catch((error: unknown): Outcome => {
        report(`what the log of ${tenant.id} has lost could not be appended again: ${(error as Error).message}`);
        return 'failed';
      })
      .finally(() => this.#giving.delete(token));
    this.#giving.set(token, {own, outcome});
    return outcome;
  }
}

function ownFile(host: string, state: FileState | null): MemberFile | null {
  return state === null ? null : fileIn({host, place: state.place ?? '', commit: state.commit});
}

function shownOf({host, position, openedBy, commit}: MemberFile) {
  return {host, place: encodePlace(position, openedBy), commit};
}

/** Null: it has no place in the log, or another version wrote it. */
export function fileIn({host, place, commit}: {host: string; place: string; commit: number}): MemberFile | null {
  try {
    return {host, ...decodePlace(place), commit};
  } catch (error) {
    if (error instanceof LogError) return null;
    throw error;
  }
}
