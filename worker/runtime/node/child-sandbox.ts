/**
 * The sandbox of a Node process: code that is executed one after another, in one global object. Each execution has a kernel of its
 * own, for its console and its end; what it left running is nobody's when it is over, and says nothing any more.
 */
import type {Socket} from 'node:net';
import {constants, Script} from 'node:vm';
import {asFunction, LINES_BEFORE, notABody, SANDBOX_FILE} from '../code-body.ts';
import {type HostCall, HostOp} from '../guest/host-call.ts';
import type {NodeCall, openCall} from '../guest/node-call.ts';
import type {FromNode} from './node-message.ts';

/** An execution under way, or one that is over and left something running. */
export type Execution = {action: number; kernel: NodeCall};

export type ChildSandboxParts = {
  channel: Socket;
  send: (message: FromNode, text?: string) => void;
  /** JSON of what was thrown. */
  described: (thrown: unknown) => string;
  /** Frames name the files as the code does. */
  relocated: (text: string) => string;
  /** Runs it so that what comes of it is known to be the execution's. */
  within: (execution: Execution, run: () => unknown) => void;
};

type Code = (args: unknown) => unknown;

const NOT_HERE = `-${JSON.stringify({name: 'Error', message: 'this is not available in sandboxes'})}`;

export class ChildSandbox {
  readonly #parts: ChildSandboxParts;
  #execution: Execution | null = null;

  constructor(parts: ChildSandboxParts) {
    this.#parts = parts;
    // Nothing is left that could wake its code: the channel, which could not either, is not counted while code runs.
    process.on('beforeExit', () => this.#end('unfinished', ''));
  }

  /** @param open of a kernel for this execution alone */
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

  /** Nobody waits for it any longer. */
  drop(action: number): void {
    if (this.#execution?.action === action) this.#over();
  }

  /** Something that nobody waited for threw. @param of the execution that it is from; null: unknown */
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

/** @throws what the compiler says of it */
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
