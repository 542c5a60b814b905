/**
 * The kernel of one call in the Node runtime: the same contexts, calls, console and values as in an isolate, over the
 * same host protocol. A Node process runs many calls at once, but this state belongs to one call. So the process
 * evaluates the whole script again for each call (each run of `dist/node-call.js` creates one kernel).
 */
import {decodeValue} from '../../../shared/values/wire-value.ts';
import {settleCall} from './actions/async-call.ts';
import {actionContext} from './actions/context.ts';
import {analyzeModule} from './analyze.ts';
import {consoleMethods} from './globals/console.ts';
import {type HostCall, HostOp} from './host-call.ts';
import {encodeResult, functionName, registered, sandboxName, sizeFault} from './result.ts';
import {state} from './state.ts';
import {describeThrown} from './thrown.ts';

type Namespace = Record<string, unknown>;
type Code = (args: unknown) => unknown;

export type NodeCall = {
  readonly console: typeof consoleMethods;
  /** Ends with one `done` or `failed` at the host. @param load loads the function's module, and can throw */
  run(load: () => Promise<Namespace>, module: string, name: string, args: string): Promise<void>;
  /** The same for a function that belongs to no module. */
  runCode(code: Code, args: string): Promise<void>;
  /** The host's answer to one of its calls. */
  settle(call: number, answer: string): void;
  /** It failed by other means: its ctx stops working. */
  end(): void;
};

const INVOCATION = 1;

export function openCall(host: HostCall): NodeCall {
  state.host = host;
  state.phase = 'action';
  state.invocation = INVOCATION;
  return {console: consoleMethods, run, runCode, settle: (call, answer) => settleCall(call, answer, null), end};
}

export {openService} from './node-service.ts';
export {analyzeModule, consoleMethods, describeThrown};

async function run(load: () => Promise<Namespace>, module: string, name: string, args: string): Promise<void> {
  const handle = async () => registered(await load(), module, name)._handler(actionContext(), decodeValue(args));
  await finish(handle, () => functionName(module, name));
}

async function runCode(code: Code, args: string): Promise<void> {
  await finish(async () => await code(decodeValue(args)), sandboxName);
}

async function finish(handle: () => Promise<unknown>, called: () => string): Promise<void> {
  let answer: string;
  try {
    answer = encodeResult(await handle(), false, called);
  } catch (thrown) {
    failed(thrown);
    return;
  }
  const tooLarge = sizeFault(answer, called);
  if (state.invocation !== INVOCATION) return;
  end();
  if (tooLarge === null) state.host(HostOp.done, INVOCATION, answer, 0);
  else state.host(HostOp.failed, INVOCATION, JSON.stringify(tooLarge));
}

function failed(thrown: unknown): void {
  if (state.invocation !== INVOCATION) return;
  end();
  state.host(HostOp.failed, INVOCATION, JSON.stringify(describeThrown(thrown)));
}

function end(): void {
  state.invocation = 0;
}
