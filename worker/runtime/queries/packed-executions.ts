/**
 * Queries that cross to another process or thread together, as rows: what calls of one function have in common is there
 * once, and the arguments of all are one text. A row takes a third of the time of an object with the same members, for
 * JSON and for structured clones.
 */
import type {Caller, Execution} from '../execution.ts';

/** What calls of one function have in common. */
export type CalledFunction = Pick<Execution, 'deployment' | 'path' | 'module' | 'name' | 'paginated'>;

/** A caller that is a text or null is an identity. */
export type PackedCall = readonly [
  calledFunction: number,
  argumentChars: number,
  nowMs: number,
  seed: string,
  caller: string | null | {invalid: string},
  endCursor: string | null,
  isWatched: 0 | 1,
];

export type PackedExecutions = {functions: CalledFunction[]; calls: PackedCall[]};

/** Without the variables, which all calls have in common. */
export type PackedExecution = Omit<Execution, 'env'>;

export class ExecutionPacker {
  #functions: CalledFunction[] = [];
  #calls: PackedCall[] = [];
  #args = '';

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Characters of the arguments so far. */
  get argumentChars(): number {
    return this.#args.length;
  }

  add({
    deployment,
    path,
    module,
    name,
    paginated,
    args,
    nowMs,
    seed,
    caller,
    endCursor,
    isWatched,
  }: PackedExecution): void {
    const called = this.#functionOf({deployment, path, module, name, paginated});
    const who = 'invalid' in caller ? caller : caller.identity;
    this.#calls.push([called, args.length, nowMs, seed, who, endCursor, isWatched === true ? 1 : 0]);
    this.#args += args;
  }

  /** Everything added since the last time. @returns `args`: the arguments of all calls, in their order */
  take(): PackedExecutions & {args: string} {
    const taken = {functions: this.#functions, calls: this.#calls, args: this.#args};
    this.#functions = [];
    this.#calls = [];
    this.#args = '';
    return taken;
  }

  /** Most calls that arrive together are of few functions, so a search is enough. */
  #functionOf(one: CalledFunction): number {
    const at = this.#functions.findIndex(
      ({path, deployment}) => path === one.path && deployment.id === one.deployment.id,
    );
    return at === -1 ? this.#functions.push(one) - 1 : at;
  }
}

/** In the order in which they were added. */
export function unpacked({functions, calls}: PackedExecutions, args: string, env: Execution['env']): Execution[] {
  let at = 0;
  return calls.map(([called, chars, nowMs, seed, who, endCursor, isWatched]) => {
    const {deployment, path, module, name, paginated} = functions[called]!;
    const caller: Caller = typeof who === 'string' || who === null ? {identity: who} : who;
    const execution: Execution = {
      env,
      deployment,
      path,
      module,
      name,
      paginated,
      args: args.slice(at, at + chars),
      caller,
      nowMs,
      seed,
      endCursor,
    };
    at += chars;
    return isWatched === 1 ? {...execution, isWatched: true} : execution;
  });
}
