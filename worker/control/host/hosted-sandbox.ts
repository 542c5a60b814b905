/**
 * One sandbox in the process of its tenant's sandboxes: an isolate of its own with one realm, which lives from execution to
 * execution. An execution is entered as an action is (functions/actions/action-run.ts). One that had to be ended while its
 * code ran leaves the realm in no known state: the sandbox is `broken` then, and its isolate gone.
 */
import type {HostCall} from '../../../isolate/host-call.ts';
import {SANDBOX_VALUE_CHARS_MAX} from '../../../shared/limits.ts';
import type {ExecutionFault} from '../../../shared/protocol/sandboxes.ts';
import {ActionLines} from '../../functions/actions/action-lines.ts';
import {refusal} from '../../functions/actions/action-message.ts';
import {ActionRun, type ActionRunParts, type RunFault, type RunIsolate} from '../../functions/actions/action-run.ts';
import type {EntryGate} from '../../functions/actions/entry-gate.ts';
import type {EgressPolicy} from '../../functions/egress/policy.ts';
import type {Outcome, Refused} from '../../functions/execution.ts';
import {type CodeSource, type Realm, RealmHost} from '../../functions/isolate/realm.ts';
import type {ExecutionRequest, ExecutionResult} from '../sandbox-message.ts';

/** Its code as stack traces name it. */
const FILE = 'sandbox.js';
/** No bundle is behind a sandbox: whatever its code imports is not there. */
const NO_MODULES: CodeSource = {
  timestampMs: 0,
  seed: '0'.repeat(32),
  read: path => {
    throw new Error(`Cannot find module '${path}'`);
  },
};
const IDLE: HostCall = () => refusal('no execution is under way');

export class HostedSandbox implements RunIsolate {
  readonly host: RealmHost;
  readonly realm: Realm;
  readonly #memoryMb: number;
  readonly #gate: EntryGate;
  #answers: HostCall = IDLE;
  #invocation = 0;
  #run: ActionRun | null = null;

  constructor(memoryMb: number, gate: EntryGate) {
    this.#memoryMb = memoryMb;
    this.#gate = gate;
    this.host = RealmHost.open({memoryMb});
    const code = {...NO_MODULES, timestampMs: Date.now()};
    this.realm = this.host.createRealm(code, (op, a, b, c, d) => this.#answers(op, a, b, c, d), 'once');
  }

  begin(answers: HostCall): number {
    this.#answers = answers;
    return ++this.#invocation;
  }

  /** About what it takes. */
  get bytes(): number {
    return this.#run?.bytes ?? this.host.heapBytes;
  }

  async execute(request: ExecutionRequest, policy: EgressPolicy): Promise<ExecutionResult> {
    const startedMs = performance.now();
    const lines = new ActionLines();
    let isCompiled = false;
    const start: ActionRunParts['start'] = async (invocation, leftMs) => {
      const code = await this.realm.compile(request.code, FILE, leftMs());
      isCompiled = true;
      try {
        await this.realm.runCode(code, {...invocation, args: request.args}, leftMs());
      } finally {
        if (!this.host.isDisposed) code.release();
      }
    };
    const run = new ActionRun(this, {
      caller: {identity: null},
      env: request.env,
      start,
      gate: this.#gate,
      policy,
      hasNetwork: request.egress !== null,
      // Its code is given nothing that asks for a function; what asks all the same is answered.
      ask: call => run.settle(call, refusal('this is not available in sandboxes'), null),
      log: line => lines.add(line),
      memoryMb: this.#memoryMb,
      actionMsMax: request.timeoutMs,
      actionCpuMsMax: request.cpuMs,
    });
    this.#run = run;
    const outcome = await run.run();
    const durationMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000;
    const broken = this.#broken(run);
    if (broken !== null) this.host.dispose();
    // Only then has isolated-vm nothing to tell any more.
    await run.atRest;
    this.#answers = IDLE;
    this.#run = null;
    return {...this.#result(outcome, run.fault, isCompiled, request), lines: lines.all, durationMs, broken};
  }

  /** Whatever it does: it is gone. */
  close(): void {
    this.#run?.cancel('the sandbox has ended');
    this.host.dispose();
  }

  #broken({isCut, fault}: ActionRun): string | null {
    if (!isCut && !this.host.isDisposed) return null;
    if (fault === 'cpu') return 'an execution computed for longer than cpu_ms and was cut off';
    if (fault === 'memory' || fault === null) return `its code needed more than its ${this.#memoryMb} MiB of memory`;
    return 'an execution was cut off while its code ran';
  }

  #result(
    outcome: Outcome | Refused,
    fault: RunFault | null,
    isCompiled: boolean,
    {timeoutMs, cpuMs}: ExecutionRequest,
  ): OutcomeOf<ExecutionResult> {
    if ('refused' in outcome) return failed('threw', outcome.refused.message);
    if (outcome.ok) {
      if (outcome.value.length <= SANDBOX_VALUE_CHARS_MAX) return {ok: true, value: outcome.value};
      return failed('threw', `the value is longer than ${SANDBOX_VALUE_CHARS_MAX} characters of JSON`);
    }
    switch (fault) {
      case 'duration':
        return failed('timed_out', `the code took longer than timeout_ms, ${timeoutMs} ms`);
      case 'cpu':
        return failed('timed_out', `the code computed for longer than the sandbox's cpu_ms, ${cpuMs} ms`);
      case 'memory':
        return failed('out_of_memory', `the code needed more than the sandbox's memory_mb, ${this.#memoryMb} MiB`);
      case 'unfinished':
        return failed('unfinished', 'what the code awaits can never happen: nothing is under way that could wake it');
      case 'cancelled':
        return failed('ended', 'the sandbox was ended while the code ran');
      default: {
        const {name, message, stack} = outcome.error;
        return {ok: false, reason: isCompiled ? 'threw' : 'syntax', name, message, stack: ownFrames(stack)};
      }
    }
  }
}

type OutcomeOf<Result> = Result extends unknown ? Omit<Result, 'lines' | 'durationMs' | 'broken'> : never;

function failed(reason: ExecutionFault, message: string): OutcomeOf<ExecutionResult> {
  return {ok: false, reason, name: 'Error', message, stack: null};
}

/** Without the frames of the kernel, which call the code. */
function ownFrames(stack: string | null): string | null {
  if (stack === null) return null;
  return stack
    .split('\n')
    .filter(line => !/^\s+at .*svc:realm/.test(line))
    .join('\n');
}
