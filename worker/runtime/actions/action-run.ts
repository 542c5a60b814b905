/**
 * Runs one action in its thread. It enters the isolate for the start and for each answer, one entry at a time. It ends
 * the action when there is a result, when a limit is reached, or when nothing can resume it.
 *
 *   running ──done──▶ lingering ──entry returned, or ACTION_LINGER_MS──▶ over
 *      └──failed | time-out | out of memory | cancelled | nothing left to wait for──▶ over
 *
 * Host calls of the isolate arrive in `#answer`, on this thread, while the isolate waits: `#answer` must not throw or
 * block.
 */
import {randomBytes} from 'node:crypto';
import {errorEnvelope, ServiceError} from '../../../shared/errors.ts';
import {ConsoleLines} from '../console-lines.ts';
import {cryptoCall} from '../crypto/crypto-host.ts';
import type {Egress} from '../egress/connector.ts';
import {type Caller, type Outcome, type Refused, unverified} from '../execution.ts';
import {type CodeInvocation, type HostCall, HostOp} from '../guest/host-call.ts';
import {realmError} from '../isolate/invocation-host.ts';
import type {Realm, RealmHost} from '../isolate/realm.ts';
import {failureOf, isOutOfMemory, isTimeOut} from '../isolate/realm-failure.ts';
import {ACTION_CPU_CHECK_MS, ACTION_LINGER_MS, ENTRY_YOUNG_MS_MAX, FUNCTION_LOAD_MS_MAX} from '../limits.ts';
import {refusal} from './action-message.ts';
import {ActionOperations, type MainCall} from './action-operations.ts';
import {checkedResult, failure, OUT_OF_MEMORY, timedOut, UNAVAILABLE, unawaitedWarning} from './action-outcome.ts';
import type {Entry, EntryGate} from './entry-gate.ts';

/** The isolate and realm that it runs in, for its duration. */
export type RunIsolate = {
  readonly host: RealmHost;
  readonly realm: Realm;
  /** @returns the number of the invocation */
  begin(answers: HostCall): number;
};

export type ActionRunParts = {
  caller: Caller;
  env: Readonly<Record<string, string>>;
  /** The first entry, which calls the code. */
  start: (invocation: Omit<CodeInvocation, 'args'>, leftMs: () => number) => Promise<void>;
  gate: EntryGate;
  /** Null: there is no network. */
  egress: Egress | null;
  /** Calls the main thread; the answer comes through `settle`. */
  ask: MainCall;
  log: (line: string) => void;
  /** Memory limit of the isolate, MiB. */
  memoryMb: number;
  actionMsMax: number;
  actionCpuMsMax: number;
};

/** Why it was ended from outside. */
export type RunFault = 'duration' | 'cpu' | 'memory' | 'unfinished' | 'cancelled';

export class ActionRun {
  readonly #isolate: RunIsolate;
  readonly #parts: ActionRunParts;
  readonly #operations: ActionOperations;
  readonly #log: ConsoleLines;
  readonly #cpuAtStartMs: number;
  /** CPU time that this thread used for it. */
  #hostMs = 0;
  readonly #deadlineMs: number;
  readonly #ended = Promise.withResolvers<Outcome | Refused>();
  #invocation = 0;
  #outcome: Outcome | null = null;
  #entries: (() => Promise<void> | void)[] = [];
  #isEntering = false;
  /** When the running entry began; null: none is running. */
  #enteredMs: number | null = null;
  /** The entry that waits at the gate. */
  #waiting: Entry | null = null;
  /** Resolves when the isolate has returned. */
  #atRest: Promise<void> = Promise.resolve();
  #isOver = false;
  #inOrder = true;
  #fault: RunFault | null = null;
  #isCut = false;
  #timers: NodeJS.Timeout[] = [];

  constructor(isolate: RunIsolate, parts: ActionRunParts) {
    this.#isolate = isolate;
    this.#parts = parts;
    this.#log = new ConsoleLines(parts.log);
    this.#cpuAtStartMs = isolate.host.cpuMs;
    this.#deadlineMs = performance.now() + parts.actionMsMax;
    this.#operations = new ActionOperations({
      egress: parts.egress,
      ask: parts.ask,
      settle: (call, answer, bytes) => this.settle(call, answer, bytes),
      event: (name, detail, bytes) => this.#event(name, detail, bytes),
      load: path => this.#load(path),
    });
  }

  /** Whether nothing of it is left in the isolate, which can then serve another action. */
  get inOrder(): boolean {
    return this.#inOrder;
  }

  /** Null: it returned or threw by itself. */
  get fault(): RunFault | null {
    return this.#fault;
  }

  /** Its code was running when it was ended, so the isolate is in an unknown state. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /**
   * Resolves when the isolate no longer runs. If the action did not end in order, that is after its isolate is disposed
   * of.
   */
  get atRest(): Promise<void> {
    return this.#atRest;
  }

  /**
   * Approximate memory of its isolate. An isolate that computes cannot be measured: it counts as nearer to full the
   * longer it has computed.
   */
  get bytes(): number {
    if (this.#enteredMs === null) return this.#isolate.host.heapBytes;
    return this.#parts.memoryMb * MIB + performance.now() - this.#enteredMs;
  }

  /** @returns its outcome. Never rejects */
  run(): Promise<Outcome | Refused> {
    const {actionMsMax, actionCpuMsMax} = this.#parts;
    const wall = setTimeout(() => this.#stop(timedOut('duration', actionMsMax), 'duration'), actionMsMax);
    const cpu = setInterval(() => {
      if (this.#cpuMs > actionCpuMsMax) this.#stop(timedOut('CPU time', actionCpuMsMax), 'cpu');
    }, ACTION_CPU_CHECK_MS);
    this.#timers = [wall, cpu];
    this.#invocation = this.#isolate.begin(this.#answer);
    this.#enter(() => this.#start());
    return this.#ended.promise;
  }

  /** Delivers the answer to one of its calls. A late answer is dropped. */
  settle(call: number, answer: string, bytes: Uint8Array | null): void {
    this.#operations.settled(call);
    this.#enter(() => this.#isolate.realm.settle(call, answer, bytes));
  }

  cancel(message: string): void {
    this.#stop(message, 'cancelled');
  }

  async #start(): Promise<void> {
    const seed = randomBytes(16).toString('hex');
    await this.#parts.start({n: this.#invocation, nowMs: Date.now(), seed}, () => this.#leftMs());
  }

  /** @returns a host answer to `import(…)` */
  #load(path: string): Promise<string> {
    const {promise, resolve} = Promise.withResolvers<string>();
    this.#enter(() => {
      try {
        this.#isolate.realm.load(path, FUNCTION_LOAD_MS_MAX);
        resolve('+');
      } catch (caught) {
        if (isTimeOut(caught) || isOutOfMemory(caught)) throw caught;
        const {name, message} = failureOf(caught);
        resolve(refusal(message, name));
      }
    });
    return promise;
  }

  #event(name: string, detail: string, bytes: Uint8Array | null): Promise<void> {
    const {promise, resolve} = Promise.withResolvers<void>();
    this.#enter(async () => {
      await this.#isolate.realm.event(name, detail, bytes);
      resolve();
    });
    return promise;
  }

  #enter(entry: () => Promise<void> | void): void {
    if (this.#isOver) return;
    this.#entries.push(entry);
    if (!this.#isEntering) this.#atRest = this.#enterAll();
  }

  async #enterAll(): Promise<void> {
    this.#isEntering = true;
    for (let entry = this.#entries.shift(); entry !== undefined && !this.#isOver; entry = this.#entries.shift()) {
      const place = this.#parts.gate.enter();
      if (!place.isInside) {
        this.#waiting = place;
        await place.admitted;
        this.#waiting = null;
        if (this.#isOver) break;
      }
      this.#enteredMs = performance.now();
      try {
        await entry();
      } catch (caught) {
        this.#failed(caught);
      } finally {
        // An ended isolate can continue to compute in a V8 call that cannot be interrupted.
        if (this.#isOver) setTimeout(() => place.leave(), ENTRY_YOUNG_MS_MAX).unref();
        else place.leave();
      }
      this.#enteredMs = null;
      if (this.#outcome !== null) break;
    }
    this.#isEntering = false;
    if (this.#isOver) return;
    if (this.#outcome !== null) this.#finish(this.#outcome, true);
    else if (!this.#operations.arePending) {
      this.#finish(failure('Returned promise will never resolve'), false, 'unfinished');
    }
  }

  /** Handles an entry that did not return in order. */
  #failed(caught: unknown): void {
    if (this.#isOver) return; // we ended the isolate ourselves
    if (isTimeOut(caught)) {
      this.#isCut = true;
      this.#finish(failure(timedOut('duration', this.#parts.actionMsMax)), false, 'duration');
    } else if (isOutOfMemory(caught)) {
      this.#isCut = true;
      this.#finish(failure(OUT_OF_MEMORY), false, 'memory');
    } else if (this.#outcome?.ok === false) this.#finish(this.#outcome, false);
    else this.#finish(this.#thrown(caught), false);
  }

  /** @returns the outcome for an error of user code, or a refusal for damaged code and internal errors */
  #thrown(caught: unknown): Outcome | Refused {
    if (caught instanceof ServiceError) return {refused: errorEnvelope(caught).error};
    try {
      return {ok: false, error: failureOf(caught)};
    } catch {
      return failure(UNAVAILABLE);
    }
  }

  /** Ends the wait for it, whatever it does. */
  #stop(message: string, fault: RunFault): void {
    if (this.#isOver) return;
    this.#isCut = this.#enteredMs !== null;
    this.#finish(this.#outcome ?? failure(message), false, fault);
  }

  #finish(outcome: Outcome | Refused, inOrder: boolean, fault: RunFault | null = null): void {
    this.#isOver = true;
    this.#inOrder = inOrder;
    this.#fault = fault;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#entries = [];
    this.#waiting?.leave();
    this.#operations.close();
    this.#ended.resolve(outcome);
  }

  /** It has a result; code that still runs gets a short time to finish. */
  #settleOutcome(outcome: Outcome): void {
    if (this.#outcome !== null) return;
    const warning = unawaitedWarning(this.#operations.unawaited());
    if (warning !== null) this.#log.add(warning);
    this.#outcome = outcome;
    this.#timers.push(setTimeout(() => this.#stop('', 'duration'), ACTION_LINGER_MS));
  }

  get #cpuMs(): number {
    return this.#isolate.host.cpuMs - this.#cpuAtStartMs + this.#hostMs;
  }

  /** Counts like the action's own code, because other actions of the thread wait while it computes. */
  #crypto(operation: string, parameters: string, bytes: Uint8Array | undefined): string {
    const {actionCpuMsMax} = this.#parts;
    if (this.#hostMs > actionCpuMsMax) {
      this.#stop(timedOut('CPU time', actionCpuMsMax), 'cpu');
      return refusal('the action has ended');
    }
    const startedMs = performance.now();
    const answer = cryptoCall(operation, parameters, bytes);
    this.#hostMs += performance.now() - startedMs;
    return answer;
  }

  #leftMs(): number {
    return Math.max(1, Math.ceil(this.#deadlineMs - performance.now()));
  }

  readonly #answer: HostCall = (op, a, b, c, d) => {
    if (this.#isOver) return refusal('the action has ended');
    try {
      return this.#answerTo(op, a, b, c, d);
    } catch (caught) {
      // An internal error would carry its stack into the isolate.
      this.#stop(UNAVAILABLE, 'cancelled');
      return refusal(caught instanceof Error ? caught.name : 'Error');
    }
  };

  #answerTo(op: HostOp, a: unknown, b: unknown, c: unknown, d: unknown): string {
    const {caller, env} = this.#parts;
    switch (op) {
      case HostOp.done:
        if (a === this.#invocation) this.#settleOutcome(checkedResult(String(b)));
        return '+';
      case HostOp.failed:
        if (a === this.#invocation) this.#settleOutcome({ok: false, error: realmError(String(b))});
        return '+';
      case HostOp.log:
        this.#log.add(String(a));
        return '+';
      case HostOp.identity:
        if ('invalid' in caller) return refusal(unverified(caller));
        return `+${caller.identity ?? 'null'}`;
      case HostOp.env:
        return Object.hasOwn(env, String(a)) ? `+${JSON.stringify(env[String(a)])}` : '+null';
      case HostOp.envNames:
        return `+${JSON.stringify(Object.keys(env))}`;
      case HostOp.randomBytes:
        return `+${randomBytes(Math.min(Math.max(0, Number(a) | 0), RANDOM_BYTES_MAX)).toString('latin1')}`;
      case HostOp.now:
        return `+${Date.now()}`;
      case HostOp.crypto:
        return this.#crypto(String(a), String(b), c instanceof Uint8Array ? c : undefined);
      case HostOp.start:
        return this.#operations.start(Number(a), String(b), String(c), d instanceof Uint8Array ? d : null);
      default:
        return refusal('this is not available in actions');
    }
  }
}

const MIB = 1024 * 1024;
/** Maximum of one crypto.getRandomValues call. (web standard) */
const RANDOM_BYTES_MAX = 65_536;
