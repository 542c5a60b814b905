/**
 * One action in its thread: it enters the isolate for the start and for each answer, one entry after the other, and ends it
 * when there is a result, when a limit is reached, or when nothing can wake it any more.
 *
 *   running ──done──▶ lingering ──entry returned, or ACTION_LINGER_MS──▶ over
 *      └──failed | time-out | out of memory | cancelled | nothing left to wait for──▶ over
 *
 * What the isolate asks arrives in `#answer`, on this thread, while the isolate waits; nothing there may throw or take long.
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

/** What it runs in, for as long as it runs. */
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
  /** Asks the main thread; the answer comes through `settle`. */
  ask: MainCall;
  log: (line: string) => void;
  /** What the isolate may take. */
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
  /** What this thread computed for it. */
  #hostMs = 0;
  readonly #deadlineMs: number;
  readonly #ended = Promise.withResolvers<Outcome | Refused>();
  #invocation = 0;
  #outcome: Outcome | null = null;
  #entries: (() => Promise<void> | void)[] = [];
  #isEntering = false;
  /** When the entry under way began; null: none is. */
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

  /** True when nothing of it is left in the isolate, which may serve another action then. */
  get inOrder(): boolean {
    return this.#inOrder;
  }

  /** Null: it returned or threw by itself. */
  get fault(): RunFault | null {
    return this.#fault;
  }

  /** Its code was running when it was ended: what is in the isolate is in no known state. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Resolves when the isolate does not run any more; after its end only once it was disposed of, if it did not end in order. */
  get atRest(): Promise<void> {
    return this.#atRest;
  }

  /**
   * About how much memory its isolate takes. One that computes cannot be asked: it counts as a full one, the longer it has
   * computed the more.
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

  /** An answer to one of its calls. One that comes too late is dropped. */
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
        // One that was ended may compute on in a call of V8's that cannot be interrupted.
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

  /** An entry did not return in order. */
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

  /** @returns the outcome for what user code threw, or for what is no fault of its author: damaged code, an error of ours */
  #thrown(caught: unknown): Outcome | Refused {
    if (caught instanceof ServiceError) return {refused: errorEnvelope(caught).error};
    try {
      return {ok: false, error: failureOf(caught)};
    } catch {
      return failure(UNAVAILABLE);
    }
  }

  /** It is not waited for any longer, whatever it does. */
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

  /** It has a result; what it still runs gets a moment to come to rest. */
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

  /** Others of the thread wait while it computes, so it counts like the action's own code. */
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
      // An error of ours would carry its stack inside.
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
/** What crypto.getRandomValues gives at most. (web standard) */
const RANDOM_BYTES_MAX = 65_536;
