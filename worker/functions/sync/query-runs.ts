/**
 * Runs queries for those who hold them. As a call over HTTP, but what is read is told whatever comes of it, and nobody is told of it before
 * it is durable. Each run is an execution like any other: logged and counted.
 */
import {randomBytes} from 'node:crypto';
import {ServiceError} from '../../../shared/errors.ts';
import type {FunctionEntry, LogEntry} from '../../../shared/protocol/functions.ts';
import type {CommitGroups} from '../../commit/group.ts';
import type {PackedReadSet} from '../../reads/read-set.ts';
import {CallError, checkArguments, findFunction, type LiveDeployment, shownPath} from '../call.ts';
import {type CallResult, ended, finished, NO_LINES} from '../call-result.ts';
import type {Execution} from '../execution.ts';
import type {QueryRun} from '../queries/query-batch.ts';
import {newSeed} from '../seed.ts';

export type QueryRunParts = {
  run: (execution: Execution) => Promise<QueryRun>;
  groups: CommitGroups;
  live: () => LiveDeployment | null;
  env: () => Execution['env'];
  clock: () => number;
  record: (entry: Omit<LogEntry, 'n'>) => void;
};

/** What is run: of a query, and for whom. */
export type Run = {path: string; args: string; journal: string | null; identity: string | null};

export type Ran = {
  result: CallResult;
  requestId: string;
  /** The moment that it read; null: it read nothing, as it could not be called so. */
  sequence: number | null;
  readSet: PackedReadSet;
  identityUsed: boolean;
  endCursor: string | null;
};

const NOTHING: PackedReadSet = {intervals: [], absentTables: []};

export class QueryRuns {
  readonly #parts: QueryRunParts;
  readonly #prefix = `live-${randomBytes(4).toString('hex')}-`;
  #count = 0;

  constructor(parts: QueryRunParts) {
    this.#parts = parts;
  }

  /** @throws ServiceError when the service cannot run it now; what the function or its caller did wrong is in the result */
  async run(run: Run): Promise<Ran> {
    const {clock, live} = this.#parts;
    const startedMs = clock();
    const requestId = this.#prefix + (++this.#count).toString(36);
    let entry: FunctionEntry | null = null;
    let ran: Ran;
    try {
      const deployment = live();
      entry = queryOf(deployment, run.path);
      ran = await this.#runOf(deployment!, entry, run, requestId);
    } catch (caught) {
      if (!(caught instanceof CallError)) throw caught;
      const result: CallResult = {ok: false, error: caught.message, ...NO_LINES};
      ran = {result, requestId, sequence: null, readSet: NOTHING, identityUsed: false, endCursor: null};
    }
    this.#parts.record({
      at: startedMs,
      request_id: requestId,
      path: entry === null ? run.path.slice(0, 200) : shownPath(entry.path),
      kind: entry?.kind ?? 'query',
      caller: 'client',
      ...ended(ran.result, clock() - startedMs),
    });
    return ran;
  }

  async #runOf(live: LiveDeployment, entry: FunctionEntry, run: Run, requestId: string): Promise<Ran> {
    const {env, clock, groups} = this.#parts;
    const {outcome, lines, starved, sequence, readSet, identityUsed, endCursor} = await this.#parts.run({
      deployment: live.code,
      path: entry.path,
      module: entry.module,
      name: entry.name,
      paginated: entry.kind === 'paginatedQuery',
      args: checkArguments(live.table, entry, JSON.parse(run.args)),
      caller: {identity: run.identity},
      env: env(),
      nowMs: Math.floor(clock()),
      seed: newSeed(),
      endCursor: run.journal,
      isWatched: true,
    });
    if (starved !== null) throw new ServiceError('session.overloaded', 'the machine is too busy');
    const result = finished(live, entry, outcome, {lines, own: lines});
    // The thread may have seen a commit that could still be taken back.
    if (sequence > groups.durableSequence) await new Promise<void>(resolve => groups.whenDurable(resolve));
    return {result, requestId, sequence, readSet: readSet ?? NOTHING, identityUsed, endCursor};
  }
}

/** @throws CallError */
function queryOf(live: LiveDeployment | null, path: string): FunctionEntry {
  const table = live?.table ?? null;
  const entry = findFunction(table, path, null, 'client');
  return entry.kind === 'paginatedQuery' ? entry : findFunction(table, path, 'query', 'client');
}
