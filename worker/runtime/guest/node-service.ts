/**
 * The kernel of a service in its Node process: the calls of an action's context, live queries, the console. It ends
 * only with its process.
 *
 *   export default async function (ctx, signal, log) {…}
 *
 * `ctx.onChange(query, args, listener, onError?)` calls its listener with each new result, one at a time. While a
 * listener runs, the host holds the newest result and drops the others. Without `onError`, a query that fails is
 * logged.
 */
import {decodeValue} from '../../../shared/values/wire-value.ts';
import {asyncCall, notifyHost, settleCall} from './actions/async-call.ts';
import {ActionContext} from './actions/context.ts';
import {encodeArguments, functionPath} from './function-reference.ts';
import {consoleMethods, forgetLines} from './globals/console.ts';
import {type HostCall, HostOp} from './host-call.ts';
import {hostError, state} from './state.ts';

type Namespace = Record<string, unknown>;
type Listener = (value: unknown) => unknown;
type OnError = (error: Error) => unknown;
type Watch = {path: string; listener: Listener; onError: OnError | undefined};

export type NodeService = {
  readonly console: typeof consoleMethods;
  /**
   * Resolves when its function has returned. @param began called just before its function. @throws the function's error
   */
  run(load: () => Promise<Namespace>, file: string, signal: object, began: () => void): Promise<void>;
  /** The host's answer to one of its calls. */
  settle(call: number, answer: string): void;
  /** A new result of a live query. @param text wire text, or JSON of {name, message}. @throws the listener's error */
  changed(watch: number, ok: boolean, text: string): Promise<void>;
};

const watches = new Map<number, Watch>();
let lastWatch = 0;

export function openService(host: HostCall): NodeService {
  state.host = (op, a, b, c, d) => {
    if (op === HostOp.log) forgetLines();
    return host(op, a, b, c, d);
  };
  state.phase = 'action';
  state.invocation = 1;
  return {console: consoleMethods, run, settle: (call, answer) => settleCall(call, answer, null), changed};
}

class ServiceContext {
  readonly runQuery: unknown;
  readonly runMutation: unknown;
  readonly runAction: unknown;
  readonly scheduler: unknown;
  readonly onChange = onChange;

  constructor({runQuery, runMutation, runAction, scheduler}: ActionContext) {
    this.runQuery = runQuery;
    this.runMutation = runMutation;
    this.runAction = runAction;
    this.scheduler = scheduler;
  }
}

async function run(load: () => Promise<Namespace>, file: string, signal: object, began: () => void): Promise<void> {
  const {default: main} = await load();
  if (typeof main !== 'function' || (main as {isSvcFunction?: unknown}).isSvcFunction === true) {
    throw new TypeError(`${file} must have a default export that is a function: async (ctx, signal, log) => {…}`);
  }
  began();
  const {debug, log, info, warn, error} = consoleMethods;
  await (main as (...args: unknown[]) => unknown)(new ServiceContext(new ActionContext()), signal, {
    debug,
    log,
    info,
    warn,
    error,
  });
}

/** @returns a function that ends the subscription */
function onChange(reference: unknown, args: unknown, listener: Listener, onError?: OnError): () => void {
  if (typeof listener !== 'function') throw new TypeError('onChange takes a query, its arguments and a function');
  const path = functionPath(reference);
  const parameters = {watch: ++lastWatch, path, args: encodeArguments(args)};
  const {watch} = parameters;
  watches.set(watch, {path, listener, onError});
  void begin(parameters);
  return () => {
    if (watches.delete(watch)) notifyHost('unwatch', {watch});
  };
}

async function begin(parameters: {watch: number; path: string}): Promise<void> {
  try {
    await asyncCall('watch', parameters);
  } catch (refused) {
    const one = watches.get(parameters.watch);
    watches.delete(parameters.watch);
    if (one !== undefined) await failed(one, refused as Error);
  }
}

async function changed(watch: number, ok: boolean, text: string): Promise<void> {
  const one = watches.get(watch);
  if (one === undefined) return; // its cancellation is about to reach the host
  try {
    if (ok) await one.listener(decodeValue(text));
    else await failed(one, hostError(`-${text}`));
  } finally {
    if (watches.has(watch)) notifyHost('heard', {watch});
  }
}

async function failed({path, onError}: Watch, error: Error): Promise<void> {
  if (onError === undefined) consoleMethods.error(`onChange of ${path} failed:`, error);
  else await onError(error);
}
