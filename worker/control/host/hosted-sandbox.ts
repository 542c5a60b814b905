/**
 * One sandbox in the process of its tenant's sandboxes: its own isolate with one realm, which lives across executions.
 * An execution is entered like an action (runtime/actions/action-run.ts). If an execution is terminated while its code
 * runs, the realm's state is unknown: the sandbox is then `broken`, and its isolate is disposed.
 */

import {ActionLines} from '../../runtime/actions/action-lines.ts';
import {refusal} from '../../runtime/actions/action-message.ts';
import {ActionRun, type ActionRunParts, type RunFault, type RunIsolate} from '../../runtime/actions/action-run.ts';
import type {EntryGate} from '../../runtime/actions/entry-gate.ts';
import {SANDBOX_FILE} from '../../runtime/code-body.ts';
import type {Egress} from '../../runtime/egress/connector.ts';
import type {Outcome, Refused} from '../../runtime/execution.ts';
import type {HostCall} from '../../runtime/guest/host-call.ts';
import {type CodeSource, type Realm, RealmHost} from '../../runtime/isolate/realm.ts';
import {brokenBy, type Came, cutOff, failed, ownFrames, returned, shownMs} from '../execution-result.ts';
import type {ExecutionRequest, ExecutionResult} from '../sandbox-message.ts';

/** A sandbox has no bundle, so every import fails. */
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

  /** Its approximate memory. */
  get bytes(): number {
    return this.#run?.bytes ?? this.host.heapBytes;
  }

  async execute(request: ExecutionRequest, egress: Egress | null): Promise<ExecutionResult> {
    const startedMs = performance.now();
    const lines = new ActionLines();
    let isCompiled = false;
    const start: ActionRunParts['start'] = async (invocation, leftMs) => {
      const code = await this.realm.compile(request.code, SANDBOX_FILE, leftMs());
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
      egress,
      // Its code gets no function to call svc functions with; a call that is made anyway is refused.
      ask: call => run.settle(call, refusal('this is not available in sandboxes'), null),
      log: line => lines.add(line),
      memoryMb: this.#memoryMb,
      actionMsMax: request.timeoutMs,
      actionCpuMsMax: request.cpuMs,
    });
    this.#run = run;
    const outcome = await run.run();
    const durationMs = shownMs(performance.now() - startedMs);
    const broken = this.#broken(run);
    if (broken !== null) this.host.dispose();
    // Only then has isolated-vm nothing left to report.
    await run.atRest;
    this.#answers = IDLE;
    this.#run = null;
    return {...this.#result(outcome, run.fault, isCompiled, request), lines: lines.all, durationMs, broken};
  }

  /** Ends the sandbox, even during an execution. */
  close(): void {
    this.#run?.cancel('the sandbox has ended');
    this.host.dispose();
  }

  #broken({isCut, fault}: ActionRun): string | null {
    return isCut || this.host.isDisposed ? brokenBy(fault, this.#memoryMb) : null;
  }

  #result(outcome: Outcome | Refused, fault: RunFault | null, isCompiled: boolean, request: ExecutionRequest): Came {
    if ('refused' in outcome) return failed('threw', outcome.refused.message);
    if (outcome.ok) return returned(outcome.value);
    if (fault !== null) return cutOff(fault, request, this.#memoryMb);
    const {name, message, stack} = outcome.error;
    return {ok: false, reason: isCompiled ? 'threw' : 'syntax', name, message, stack: ownFrames(stack, /svc:realm/)};
  }
}
