/**
 * The sandbox of a Node process: executes code, one execution after another, in one global object. Each execution has
 * its own kernel for its console and its outcome. Code that an execution left running after its end can no longer log
 * or return anything.
 */
import type {Socket} from 'node:net';
import {constants, Script} from 'node:vm';
import {asFunction, LINES_BEFORE, notABody, SANDBOX_FILE} from '../code-body.ts';
import {type HostCall, HostOp} from '../guest/host-call.ts';
import type {NodeCall, openCall} from '../guest/node-call.ts';
import type {FromNode} from './node-message.ts';

/** An execution that is running, or that has ended and left code running. */
export type Execution = {action: number; kernel: NodeCall};

export type ChildSandboxParts = {
  channel: Socket;
  send: (message: FromNode, text?: string) => void;
  /** Returns what was thrown as JSON. */
  described: (thrown: unknown) => string;
  /** Rewrites the file names in stack frames to those of the submitted code. */
  relocated: (text: string) => string;
  /** Runs a function in the async context of an execution, so that later errors and output are attributed to it. */
  within: (execution: Execution, run: () => unknown) => void;
};

type Code = (args: unknown) => unknown;

const NOT_HERE = `-${JSON.stringify({name: 'Error', message: 'this is not available in sandboxes'})}`;

export class ChildSandbox {
  readonly #parts: ChildSandboxParts;
  #execution: Execution | null = null;

  constructor(parts: ChildSandboxParts) {
    this.#parts = parts;
    // Nothing is left that could resume the code. The channel cannot resume it either, and is unreferenced while code
    // runs.
    process.on('beforeExit', () => this.#end('unfinished', ''));
  }

  /** @param open creates a kernel for this execution alone */
  execute(action: number, code: string, args: string, open: typeof openCall): void {
    const {channel, within} = this.#parts;
    const execution: Execution = {action, kernel: open(this.#host(action))};
    this.#execution = execution;
    let compiled: Code;
    try {
      compiled = compile(code);
    } catch (thrown) {
      this.#end('syntax', this.#parts.described(thrown));
      return;
    }
    channel.unref();
    within(execution, () => execution.kernel.runCode(compiled, args));
  }

  /** The caller no longer waits for it. */
  drop(action: number): void {
    if (this.#execution?.action === action) this.#over();
  }

  /** Reports an uncaught error. @param of the execution that caused it; null: unknown */
  crashed(thrown: unknown, of: Execution | null): void {
    if (of === null || of === this.#execution) this.#end('threw', this.#parts.described(thrown));
  }

  #host(action: number): HostCall {
    const {send, relocated} = this.#parts;
    return (op, a, b) => {
      switch (op) {
        case HostOp.done:
          if (this.#execution?.action === action) this.#end(null, String(b));
          return '+';
        case HostOp.failed:
          if (this.#execution?.action === action) this.#end('threw', relocated(String(b)));
          return '+';
        case HostOp.log:
          if (this.#execution?.action === action) send({type: 'log', action}, relocated(String(a)));
          return '+';
        case HostOp.now:
          return `+${Date.now()}`;
        default:
          return NOT_HERE;
      }
    };
  }

  #end(fault: 'syntax' | 'threw' | 'unfinished' | null, text: string): void {
    const {action} = this.#execution ?? {};
    if (action === undefined) return;
    this.#over();
    this.#parts.send({type: 'executed', action, fault}, text);
  }

  #over(): void {
    this.#execution?.kernel.end();
    this.#execution = null;
    this.#parts.channel.ref();
  }
}

/** @throws the compiler's error */
function compile(code: string): Code {
  const script = new Script(asFunction(code), {
    filename: SANDBOX_FILE,
    lineOffset: -LINES_BEFORE,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const compiled: unknown = script.runInThisContext();
  if (typeof compiled === 'function') return compiled as Code;
  throw notABody();
}
