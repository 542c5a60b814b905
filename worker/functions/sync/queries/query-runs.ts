/**
 * Runs subscribed queries, or takes the cached result of an equal call. Like an HTTP call, but it also returns the read
 * set, whatever the outcome, and only once the data that it read is durable. Each run is an execution like any other:
 * logged and counted.
 */
import {hash, randomBytes} from 'node:crypto';
import type {CommitGroups} from '../../../../engine/commit/group.ts';
import {withIds} from '../../../../engine/reads/read-log.ts';
import type {PackedReadSet} from '../../../../engine/reads/read-set.ts';
import type {Catalog} from '../../../../engine/storage/catalog.ts';
import {overloaded} from '../../../../shared/errors.ts';
import {OTHER_FUNCTIONS} from '../../../../shared/metrics/function-counts.ts';
import type {FunctionEntry} from '../../../../shared/protocol/functions.ts';
import {
  CallError,
  canonicalPath,
  checkArguments,
  findFunction,
  type LiveDeployment,
  shownPath,
} from '../../../runtime/call.ts';
import {type CallResult, ended, finished, NO_LINES} from '../../../runtime/call-result.ts';
import type {Execution} from '../../../runtime/execution.ts';
import type {UnnumberedEntry} from '../../../runtime/log/execution-log.ts';
import {callSpan, type Span} from '../../../runtime/log/span.ts';
import type {QueryRun} from '../../../runtime/queries/packed-run.ts';
import {newSeed} from '../../functions.ts';
import type {Results} from '../../results/results.ts';

export type QueryRunParts = {
  pool: {
    run(execution: Execution): Promise<QueryRun>;
    runTogether(executions: readonly Execution[]): Promise<QueryRun[]>;
  };
  cached: Pick<Results<CallResult>, 'findRun'>;
  groups: Pick<CommitGroups, 'durableSequence' | 'whenDurable'>;
  /** Validators look up ids in it. */
  catalog: Pick<Catalog, 'notingIds'>;
  live: () => LiveDeployment | null;
  env: () => Execution['env'];
  clock: () => number;
  /** @param name under which it is counted; absent: its path */
  record: (entry: UnnumberedEntry, span: Span, name?: string) => void;
};

/**
 * The query: a function called as this kind of query, its arguments as wire JSON, and where its page ends.
 * `isInternal`: requested by the tenant's own code, which can call internal functions.
 */
export type QueryRequest = {
  kind: 'query' | 'paginatedQuery';
  path: string;
  args: string;
  journal: string | null;
  isInternal: boolean;
};

/** A query and the identity to run it as. */
export type Run = QueryRequest & {identity: string | null};

export type Ran = {
  result: CallResult;
  requestId: string;
  /** The version that it read; null: it read nothing, because the call was invalid. */
  sequence: number | null;
  readSet: PackedReadSet;
  identityUsed: boolean;
  endCursor: string | null;
  /** The result comes from the cache; nothing was run. */
  wasCached: boolean;
};

const NOTHING: PackedReadSet = {intervals: [], absentTables: []};

/** A call that can run, or the error why it cannot. */
type Prepared = {live: LiveDeployment; entry: FunctionEntry; execution: Execution} | CallError;

export class QueryRuns {
  readonly #parts: QueryRunParts;
  readonly #prefix = `live-${randomBytes(4).toString('hex')}-`;
  #count = 0;

  constructor(parts: QueryRunParts) {
    this.#parts = parts;
  }

  /** @throws ServiceError when the service cannot run it now; errors of the function or its caller are in the result */
  async run(run: Run): Promise<Ran> {
    const startedMs = this.#parts.clock();
    const ids = new Set<string>();
    const prepared = this.#prepared(run, ids);
    if (prepared instanceof CallError) return this.#ran(run, prepared, null, ids, startedMs);
    const cached = this.#parts.cached.findRun(prepared.execution);
    if (cached !== null) {
      const {answer: result, ...facts} = cached;
      const readSet = withIds(cached.readSet, ids);
      return this.#recorded(
        run,
        prepared,
        {result, ...facts, readSet, requestId: this.#nextRequestId(), wasCached: true},
        startedMs,
      );
    }
    const ran = await this.#parts.pool.run(prepared.execution);
    return await this.#whenDurable(this.#ran(run, prepared, ran, ids, startedMs));
  }

  /** Runs these in one snapshot. @returns the outcomes in order, and the version. @throws as `run` */
  async runTogether(runs: readonly Run[]): Promise<{rans: Ran[]; sequence: number}> {
    const startedMs = this.#parts.clock();
    const ids = runs.map(() => new Set<string>());
    const prepared = runs.map((run, i) => this.#prepared(run, ids[i]!));
    const executions = prepared.flatMap(one => (one instanceof CallError ? [] : [one.execution]));
    const ran = await this.#parts.pool.runTogether(executions);
    const sequence = ran[0]?.sequence ?? this.#parts.groups.durableSequence;
    let next = 0;
    const rans = prepared.map((one, i) =>
      this.#ran(runs[i]!, one, one instanceof CallError ? null : ran[next++]!, ids[i]!, startedMs),
    );
    for (const one of rans) await this.#whenDurable(one);
    return {rans, sequence};
  }

  /** @param ids receives the ids whose table was looked up */
  #prepared({kind, path, args, journal, identity, isInternal}: Run, ids: Set<string>): Prepared {
    const {env, clock, catalog} = this.#parts;
    try {
      const live = this.#parts.live();
      const entry = findFunction(live?.table ?? null, path, kind, isInternal ? 'function' : 'client');
      const execution: Execution = {
        deployment: live!.code,
        path: entry.path,
        module: entry.module,
        name: entry.name,
        paginated: entry.kind === 'paginatedQuery',
        args: catalog.notingIds(ids, () => checkArguments(live!.table, entry, JSON.parse(args))),
        caller: {identity},
        env: env(),
        nowMs: Math.floor(clock()),
        seed: newSeed(),
        endCursor: journal,
        isWatched: true,
      };
      return {live: live!, entry, execution};
    } catch (caught) {
      if (!(caught instanceof CallError)) throw caught;
      return caught;
    }
  }

  /**
   * Logs the run.
   * @param run null: it could not be run.
   * @param ids that validators have looked up.
   * @throws session.overloaded
   */
  #ran(requested: Run, prepared: Prepared, run: QueryRun | null, ids: Set<string>, startedMs: number): Ran {
    const requestId = this.#nextRequestId();
    const wasCached = false;
    let ran: Ran;
    if (prepared instanceof CallError || run === null) {
      const error = prepared instanceof CallError ? prepared.message : '';
      const result: CallResult = {ok: false, error, ...NO_LINES};
      const readSet = withIds(NOTHING, ids);
      ran = {result, requestId, sequence: null, readSet, identityUsed: false, endCursor: null, wasCached};
    } else {
      const {outcome, lines, starved, sequence, identityUsed, endCursor} = run;
      if (starved !== null) throw overloaded('the machine is too busy');
      const result = this.#parts.catalog.notingIds(ids, () =>
        finished(prepared.live, prepared.entry, outcome, {lines, own: lines}),
      );
      const readSet = withIds(run.readSet ?? NOTHING, ids);
      ran = {result, requestId, sequence, readSet, identityUsed, endCursor, wasCached};
    }
    return this.#recorded(requested, prepared, ran, startedMs);
  }

  #nextRequestId(): string {
    return this.#prefix + (++this.#count).toString(36);
  }

  #recorded({kind, path, isInternal}: Run, prepared: Prepared, ran: Ran, startedMs: number): Ran {
    const entry = prepared instanceof CallError ? null : prepared.entry;
    this.#parts.record(
      {
        at: startedMs,
        request_id: ran.requestId,
        path: entry === null ? path.slice(0, 200) : shownPath(entry.path),
        kind: entry?.kind ?? kind,
        caller: isInternal ? 'function' : 'client',
        ...ended(ran.result, this.#parts.clock() - startedMs),
      },
      callSpan(ran.requestId),
      entry === null ? OTHER_FUNCTIONS : undefined,
    );
    return ran;
  }

  /**
   * The thread may have read a commit that can still be rolled back, so the result waits until that commit is durable.
   */
  async #whenDurable(ran: Ran): Promise<Ran> {
    const {groups} = this.#parts;
    if (ran.sequence !== null && ran.sequence > groups.durableSequence) {
      await new Promise<void>(resolve => groups.whenDurable(resolve));
    }
    return ran;
  }
}

/**
 * Neither a path nor JSON contains a NUL character. Long keys are hashed because the engine hashes long strings by
 * their length alone, so those of equal length collide.
 */
export function keyOf({kind, path, args, journal, isInternal}: QueryRequest): string {
  const key = `${isInternal ? 'internal' : ''}${kind === 'query' ? '' : 'paginated'}\0${canonicalPath(path)}\0${args}\0${journal ?? ''}`;
  return key.length <= 1024 ? key : hash('sha256', key, 'base64');
}
