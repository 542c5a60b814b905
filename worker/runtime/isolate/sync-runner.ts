/**
 * Runs queries or mutations one after another in one isolate. Each is one entry with its own time-out (an entry costs
 * about a microsecond). A realm serves one invocation after another of its deployment. These events end a realm or the
 * isolate:
 *
 *   time-out, a promise that never settles ──▶ the realm is dropped
 *   changed built-ins, memory kept unseen  ──▶ the isolate is replaced before the next invocation
 *   out of memory                          ──▶ the isolate is gone, the next invocation opens another
 *   a heap that stays large                ──▶ the isolate is replaced between two invocations
 *   many realms, one after another         ──▶ the isolate is replaced when the next one is made
 */
import {isDeepStrictEqual} from 'node:util';
import {type PackedReadSet, packed} from '../../../engine/reads/read-set.ts';
import {assert} from '../../../shared/assert.ts';
import type {HostDatabase} from '../database/host-database.ts';
import {type Clocks, Deadline} from '../deadline.ts';
import type {DeploymentCode, Execution, Outcome} from '../execution.ts';
import {FUNCTION_RESULT_BYTES_MAX} from '../guest/limits.ts';
import {
  FUNCTION_LOAD_MS_MAX,
  FUNCTION_MS_MAX,
  FUNCTION_MS_WARNING,
  ISOLATE_HEAP_RECYCLE_BYTES,
  ISOLATE_MEMORY_MB,
  REALMS_MADE_PER_ISOLATE_MAX,
  REALMS_PER_ISOLATE_MAX,
} from '../limits.ts';
import {type FunctionScheduler, InvocationHost} from './invocation-host.ts';
import {type CodeSource, type Realm, RealmHost} from './realm.ts';
import {failureOf, isOutOfMemory, isTimeOut} from './realm-failure.ts';

export type SyncResult = {
  outcome: Outcome;
  lines: string[];
  identityUsed: boolean;
  /** The result is valid only for its moment: the function read the time or drew random numbers. */
  isMomentary: boolean;
  /**
   * What it read. Null: not needed, because it is a mutation, or because it failed or is momentary and has no
   * subscribers.
   */
  readSet: PackedReadSet | null;
  /** The end cursor of the page that it made; null: it made none. */
  endCursor: string | null;
  /**
   * The wall clock ran out before the function had its full CPU time, because the machine was busy. Its writes must be
   * undone. `again`: it can then be run again; `over`: its callers have waited long enough. Null: it had its full CPU
   * time.
   */
  starved: 'again' | 'over' | null;
  /** The time it had when it was starved, in whole milliseconds. */
  had?: {cpuMs: number; wallMs: number};
};

const NOT_KEPT = {identityUsed: false, isMomentary: false, readSet: null, endCursor: null};
const NOTHING_READ: PackedReadSet = {intervals: [], absentTables: []};

/** The heap is measured after this many invocations, because measuring costs more than a small query. */
const HEAP_CHECK_INVOCATIONS = 256;
/** Garbage counts until it is collected, so a heap counts as large after this many large measurements in a row. */
const LARGE_HEAP_CHECKS = 8;

/** A function that is out of time and has used this part of its CPU time is out of CPU time. */
const CPU_USED_UP = 0.9;
/** How much longer than its limit code can run that never calls the host. */
const TIME_OUT_GRID_MS = 100;
/** How long a machine that was busy is expected to stay busy: code that needs wall time gets more of it at once. */
const STARVED_MS = 10_000;

export class SyncRunner {
  readonly #kind: 'query' | 'mutation';
  readonly #codeOf: (deployment: DeploymentCode) => CodeSource;
  readonly #database: HostDatabase;
  readonly #host: InvocationHost;
  readonly #deadline: Deadline;
  readonly #wallMsMax: number;
  /** The time-out for isolated-vm while the machine is busy. */
  #starved = {timeoutMs: 0, untilMs: 0};
  #isolate: RealmHost | null = null;
  /** By deployment; the newest is last. */
  readonly #realms = new Map<number, Realm>();
  /** Realms made in this isolate, released ones included: each leaves some memory behind. */
  #realmsMade = 0;
  #invocation = 0;
  #largeChecks = 0;
  /** The variables that the realms were loaded with. */
  #env: Execution['env'] = {};

  constructor(
    kind: 'query' | 'mutation',
    codeOf: (deployment: DeploymentCode) => CodeSource,
    database: HostDatabase,
    scheduler: FunctionScheduler | null,
    {wallMsMax, clocks}: {wallMsMax: number; clocks?: Clocks},
  ) {
    this.#deadline = new Deadline(clocks);
    this.#kind = kind;
    this.#codeOf = codeOf;
    this.#database = database;
    this.#wallMsMax = wallMsMax;
    // The isolate ends as soon as it is back from the host; the handle of the isolate does not wait for that.
    const onOver = () => this.#isolate?.dispose();
    this.#host = new InvocationHost(database, scheduler, {deadline: this.#deadline, onOver});
  }

  /**
   * Loads what the execution needs, so that it can then run where loading must not delay others.
   * @returns how that failed; null: it succeeded. @throws AssertionError and storage errors
   */
  prepare(execution: Execution): SyncResult | null {
    if (this.isPrepared(execution)) return null;
    try {
      this.#loaded(execution);
      return null;
    } catch (caught) {
      const outcome = this.#failed(caught);
      this.#dropAfter(outcome);
      return {outcome, lines: [...this.#host.lines], ...NOT_KEPT, starved: null};
    }
  }

  /** Makes the isolate, and all of a realm that is the same for every deployment. */
  warm(): void {
    if (this.#isolate !== null) return;
    this.#open();
    this.#isolate!.warm(this.#host.call);
  }

  /** Whether the execution would load nothing. */
  isPrepared(execution: Execution): boolean {
    if (execution.env !== this.#env || this.#isolate === null || this.#isolate.isDisposed) return false;
    return this.isLoaded(execution);
  }

  /** @throws AssertionError and storage errors; errors of user code are in the outcome */
  run(execution: Execution, isAnew = false): SyncResult {
    const host = this.#host;
    const number = ++this.#invocation;
    let outcome: Outcome;
    let starved: SyncResult['starved'] = null;
    let had: SyncResult['had'];
    let isChanged = false;
    let hasBegun = false;
    try {
      const realm = this.#loaded(execution);
      this.#deadline.begin(FUNCTION_MS_MAX, this.#wallMsMax);
      host.begin(number, execution, execution.env);
      hasBegun = true;
      try {
        isChanged = !realm.runSync(this.#invocationOf(number, execution), onGrid(this.#timeoutMs()));
        outcome = this.#settled();
      } catch (caught) {
        if (isTimeOut(caught) || host.isOver) {
          had = {cpuMs: Math.round(this.#deadline.cpuMs), wallMs: Math.round(this.#deadline.wallMs)};
          starved = this.#starvation();
        }
        throw caught;
      } finally {
        host.end();
      }
    } catch (caught) {
      outcome = this.#failed(caught);
    }
    // Memory outside V8's limit is freed only with the whole isolate.
    if (isChanged) {
      assert(!isAnew, 'a realm that was just made is as its modules left it');
      this.dispose();
      return this.run(execution, true);
    }
    if (!outcome.ok) this.#dropAfter(outcome);
    // If its modules could not be loaded, the host's values belong to an earlier invocation.
    const identityUsed = hasBegun && host.identityUsed;
    const isMomentary = host.observed !== 0;
    const isCacheable = this.#kind === 'query' && (execution.isWatched === true || (outcome.ok && !isMomentary));
    const readSet = isCacheable ? (hasBegun ? packed(this.#database.readSet) : NOTHING_READ) : null;
    const endCursor = hasBegun ? (this.#database.paginated?.endCursor ?? null) : null;
    const lines = [...host.lines, ...this.#database.takeWarnings(), ...this.#timeWarning(outcome)];
    this.#recycle();
    const result = {outcome, lines, identityUsed, isMomentary, readSet, endCursor, starved};
    return starved === null || had === undefined ? result : {...result, had};
  }

  /** Whether its module is loaded, so that it would run at once. */
  isLoaded({deployment, module}: Execution): boolean {
    return this.#realms.get(deployment.id)?.has(`${module}.js`) === true;
  }

  /** Frees all memory; the next invocation opens a new isolate. */
  dispose(): void {
    for (const realm of this.#realms.values()) realm.release();
    this.#realms.clear();
    this.#isolate?.dispose();
    this.#isolate = null;
    this.#largeChecks = 0;
  }

  #timeoutMs(): number {
    const {timeoutMs, untilMs} = this.#starved;
    return performance.now() < untilMs ? timeoutMs : FUNCTION_MS_MAX;
  }

  /** Whether the machine, not the function, used up the time. */
  #starvation(): SyncResult['starved'] {
    const {cpuMs, wallMs} = this.#deadline;
    if (cpuMs >= CPU_USED_UP * FUNCTION_MS_MAX) return null;
    const isLast = wallMs >= this.#wallMsMax || this.#timeoutMs() >= this.#wallMsMax;
    const wanted = Math.max(2 * this.#timeoutMs(), (1.25 * FUNCTION_MS_MAX * wallMs) / Math.max(1, cpuMs));
    const timeoutMs = Math.ceil(Math.min(wanted, this.#wallMsMax));
    this.#starved = {timeoutMs, untilMs: performance.now() + STARVED_MS};
    return isLast ? 'over' : 'again';
  }

  #timeWarning({ok}: Outcome): string[] {
    if (!ok || this.#deadline.wallMs < FUNCTION_MS_WARNING) return [];
    const {cpuMs} = this.#deadline;
    if (cpuMs < FUNCTION_MS_WARNING) return [];
    return [`[WARN] Function execution took a long time (${Math.round(cpuMs)} ms, maximum ${FUNCTION_MS_MAX} ms)`];
  }

  #invocationOf(n: number, {module, name, paginated, args, nowMs, seed}: Execution) {
    return {n, module: `${module}.js`, name, kind: this.#kind, paginated, args, nowMs, seed};
  }

  #loaded({deployment, module, env}: Execution): Realm {
    this.#dropAfterChange(env);
    if (this.#isolate === null || this.#isolate.isDisposed) this.#open();
    const file = `${module}.js`;
    const known = this.#realms.get(deployment.id);
    if (known?.has(file) === true) return known;
    this.#deadline.begin(FUNCTION_LOAD_MS_MAX, FUNCTION_LOAD_MS_MAX);
    this.#host.begin(0, null, env);
    try {
      return this.#load(deployment, file, known);
    } catch (caught) {
      this.#drop(deployment.id);
      throw caught;
    } finally {
      this.#host.end();
    }
  }

  #load(deployment: DeploymentCode, file: string, known: Realm | undefined): Realm {
    const endMs = performance.now() + FUNCTION_LOAD_MS_MAX;
    if (known !== undefined) {
      try {
        known.load(file, FUNCTION_LOAD_MS_MAX);
        return known;
      } catch (caught) {
        if (isTimeOut(caught) || isOutOfMemory(caught) || this.#host.isOver) throw caught;
        // It can have tried to add to built-ins, which a realm that has served does not allow.
      }
    }
    this.#drop(deployment.id);
    if (this.#realmsMade >= REALMS_MADE_PER_ISOLATE_MAX) {
      this.dispose();
      this.#open();
    }
    this.#realmsMade++;
    const realm = this.#isolate!.createRealm(this.#codeOf(deployment), this.#host.call, 'sealed');
    this.#realms.set(deployment.id, realm);
    for (const id of this.#realms.keys()) {
      if (this.#realms.size <= REALMS_PER_ISOLATE_MAX) break;
      this.#drop(id);
    }
    const files = [...(known?.loaded ?? []), file];
    for (const path of files) realm.load(path, Math.max(1, Math.ceil(endMs - performance.now())));
    return realm;
  }

  #open(): void {
    this.#realms.clear();
    this.#realmsMade = 0;
    this.#isolate = RealmHost.open({memoryMb: ISOLATE_MEMORY_MB});
  }

  #drop(deployment: number): void {
    this.#realms.get(deployment)?.release();
    this.#realms.delete(deployment);
  }

  /** Drops realms loaded with other variables: their modules can have stored them. */
  #dropAfterChange(env: Execution['env']): void {
    if (env === this.#env) return;
    const isSame = isDeepStrictEqual({...env}, {...this.#env});
    this.#env = env;
    if (isSame) return;
    for (const realm of this.#realms.values()) realm.release();
    this.#realms.clear();
  }

  #settled(): Outcome {
    const {outcome} = this.#host;
    if (outcome === null) return failure('Returned promise will never resolve');
    if (!outcome.ok) return outcome;
    const {limitExceeded} = this.#database;
    if (limitExceeded !== null) return failure(limitExceeded);
    if (outcome.value.length > FUNCTION_RESULT_BYTES_MAX) return failure('Function return value is too large');
    return outcome;
  }

  /** Classifies an error from the isolate. An earlier failure in a handler explains more. */
  #failed(caught: unknown): Outcome {
    const {outcome} = this.#host;
    const error = failureOf(caught); // throws internal errors
    if (isTimeOut(caught) || this.#host.isOver)
      return failure(`Function execution timed out (maximum duration: ${FUNCTION_MS_MAX / 1000}s)`);
    if (isOutOfMemory(caught)) return failure('JavaScript execution ran out of memory');
    if (outcome !== null && !outcome.ok) return outcome;
    return {ok: false, error};
  }

  /** A realm whose invocation did not end in order still has its code in it. */
  #dropAfter(outcome: Outcome): void {
    if (this.#host.outcome !== null && this.#host.outcome === outcome) return;
    for (const realm of this.#realms.values()) realm.release();
    this.#realms.clear();
    if (this.#isolate?.isDisposed === true) this.#isolate = null;
  }

  #recycle(): void {
    if (this.#invocation % HEAP_CHECK_INVOCATIONS !== 0 || this.#isolate === null) return;
    this.#largeChecks = this.#isolate.heapBytes > ISOLATE_HEAP_RECYCLE_BYTES ? this.#largeChecks + 1 : 0;
    if (this.#largeChecks >= LARGE_HEAP_CHECKS) this.dispose();
  }
}

/**
 * Rounds a time-out up so that it expires together with others. isolated-vm has a thread that wakes for every time-out,
 * long after its call has returned, and a wake-up costs as much as a small call.
 */
function onGrid(timeoutMs: number): number {
  const endMs = performance.now() + timeoutMs;
  return timeoutMs + Math.ceil(TIME_OUT_GRID_MS - (endMs % TIME_OUT_GRID_MS));
}

function failure(message: string): Outcome {
  return {ok: false, error: {name: 'Error', message, stack: null}};
}
