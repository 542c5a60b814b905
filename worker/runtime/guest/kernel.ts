/**
 * The first script of every realm: builds its globals, stores the modules that the host loads, and runs one invocation
 * at a time. The host takes the functions below and then removes every trace of itself from the global object, so user
 * code finds neither the host function nor the kernel.
 *
 * An invocation ends with exactly one `done` or `failed` for its number. If it succeeded, code that the handler left
 * running continues until the microtask queue is empty (a forgotten `await db.insert(…)` still counts). If it failed,
 * that code is cut off.
 */

import {decodeValue} from '../../../shared/values/wire-value.ts';
import {asyncCall, settleCall} from './actions/async-call.ts';
import {ActionContext, actionContext} from './actions/context.ts';
import {runHttpAction} from './actions/http-action.ts';
import {networkEvent} from './actions/network.ts';
import {analyzeAuthConfig, analyzeModule, analyzeRouter, analyzeSchema} from './analyze.ts';
import {MutationContext, QueryContext} from './context.ts';
import {filterPrototype} from './filter-builder.ts';
import {installGlobals, resetGlobals} from './globals/install.ts';
import {holdsMuch} from './globals/shared-memory.ts';
import {type HostCall, HostOp, type InvocationKind, type RealmUse} from './host-call.ts';
import {afterModules, beforeModules, isIntact, noteBuiltIns} from './integrity.ts';
import {queryPrototypes} from './query-builder.ts';
import {rangePrototype} from './range-builder.ts';
import {encodeResult, functionName, type Registered, registered, sandboxName, sizeFault} from './result.ts';
import {type Phase, state} from './state.ts';
import {describeThrown} from './thrown.ts';

type Namespace = Record<string, unknown>;
type Code = (args: unknown) => unknown;

const modules = new Map<string, Namespace>();
/** The functions that were called. */
const entries: {module: string; name: string; kind: InvocationKind; paginated: boolean}[] = [];
let phaseBeforeImport: Phase = 'idle';
let realmUse: RealmUse = 'once';
const stringify = JSON.stringify;

/** Called once, before any user code. @param seed the deployment's seed, 32 hex characters */
function open(deployMs: number, seed: string, use: RealmUse): void {
  realmUse = use;
  state.deployMs = deployMs;
  state.nowMs = deployMs;
  state.seeded.seed(seed);
  state.phase = 'import';
  installGlobals();
  Object.defineProperty(globalThis, Symbol.for('svc.import'), {value: importModule});
  noteBuiltIns(use, hiddenBuiltIns(), [(globalThis as unknown as {process: {env: object}}).process.env]);
  state.phase = 'idle';
}

/** Objects that user code can get although no global leads to them. */
function hiddenBuiltIns(): object[] {
  return [
    QueryContext.prototype,
    MutationContext.prototype,
    ActionContext.prototype,
    ...queryPrototypes,
    filterPrototype,
    rangePrototype,
    ...[
      function* () {},
      async () => {},
      async function* () {},
      [][Symbol.iterator](),
      ''[Symbol.iterator](),
      new Map()[Symbol.iterator](),
      new Set()[Symbol.iterator](),
      /a/[Symbol.matchAll](''),
    ].map(instance => Object.getPrototypeOf(instance) as object),
  ];
}

/**
 * Called before the host evaluates one file of the bundle. Random numbers and times that it reads are the same in every
 * realm.
 */
function importing(seed: string): void {
  if (state.phase !== 'import') {
    phaseBeforeImport = state.phase;
    beforeModules();
  }
  state.phase = 'import';
  state.nowMs = state.deployMs;
  state.seeded.seed(seed);
}

/** @param path of a file of the bundle, `a/b.js` */
function addModule(path: string, namespace: Namespace): void {
  modules.set(path, namespace);
}

/** Called after imports. An action that requested the module continues. */
function imported(): void {
  if (state.phase === 'import') state.phase = phaseBeforeImport;
  // Nothing is sealed before the first call, because the host can load more modules.
  if (realmUse === 'compared') afterModules();
}

/** Called before the first query or mutation of each function. @returns its number */
function enter(module: string, name: string, kind: InvocationKind, paginated: boolean): number {
  const number = entries.length;
  entries[number] = {module, name, kind, paginated};
  return number;
}

/** @returns false if a call has changed the realm: nothing was run, and the host makes a new realm */
function run(entry: number, invocation: number, args: string, nowMs: number, seed: string): boolean {
  if (realmUse === 'sealed') {
    if (!isReusable()) return false;
    afterModules();
  }
  const {module, name, kind, paginated} = entries[entry]!;
  start(invocation, module, name, kind, paginated, args, nowMs, seed);
  return true;
}

/** Runs an action, in a realm that is checked after it. */
function start(
  invocation: number,
  module: string,
  name: string,
  kind: InvocationKind,
  paginated: boolean,
  args: string,
  nowMs: number,
  seed: string,
): void {
  begin(invocation, kind === 'httpAction' ? 'action' : kind, nowMs, seed);
  void execute(invocation, module, name, kind, paginated, args);
}

/**
 * Runs code that belongs to no module: an async function that the host has compiled in this realm. Its effects stay.
 */
function runCode(invocation: number, code: Code, args: string, nowMs: number, seed: string): void {
  begin(invocation, 'action', nowMs, seed);
  void executeCode(invocation, code, args);
}

function begin(invocation: number, phase: Phase, nowMs: number, seed: string): void {
  state.invocation = invocation;
  state.nowMs = nowMs;
  state.performanceMs = 0;
  state.observed = 0;
  state.seeded.seed(seed);
  state.phase = phase;
  resetGlobals();
}

/** Whether the realm can serve another caller. */
function isReusable(): boolean {
  return isIntact() && !holdsMuch();
}

async function execute(
  invocation: number,
  module: string,
  name: string,
  kind: InvocationKind,
  paginated: boolean,
  args: string,
): Promise<void> {
  const called = () => functionName(module, name);
  let answer: string;
  try {
    if (kind === 'httpAction') {
      await runHttpAction(routeHandler(module, Number(name)), args);
      answer = 'null';
    } else {
      const context =
        kind === 'query' ? new QueryContext() : kind === 'mutation' ? new MutationContext() : actionContext();
      const value = await registered(modules.get(module), module, name)._handler(context, decodeValue(args));
      answer = encodeResult(value, paginated, called);
    }
  } catch (thrown) {
    fail(invocation, thrown);
    return;
  }
  settle(invocation, answer, called);
}

async function executeCode(invocation: number, code: Code, args: string): Promise<void> {
  let answer: string;
  try {
    answer = encodeResult(await code(decodeValue(args)), false, sandboxName);
  } catch (thrown) {
    fail(invocation, thrown);
    return;
  }
  settle(invocation, answer, sandboxName);
}

function fail(invocation: number, thrown: unknown): void {
  if (state.invocation === invocation) state.invocation = 0;
  state.host(HostOp.failed, invocation, stringify(describeThrown(thrown)));
}

function settle(invocation: number, answer: string, called: () => string): void {
  const tooLarge = sizeFault(answer, called);
  if (tooLarge === null) state.host(HostOp.done, invocation, answer, state.observed);
  else state.host(HostOp.failed, invocation, stringify(tooLarge));
}

type Router = {_routes(): {handler: Registered}[]};

function routeHandler(module: string, index: number): Registered['_handler'] {
  const router = modules.get(module)?.default as Router;
  return router._routes()[index]!.handler._handler;
}

/** The bundler replaces `import(…)` in user code with a call of this. @param path of a file of the bundle */
async function importModule(path: unknown): Promise<Namespace> {
  if (state.phase !== 'action') throw new TypeError('dynamic module import unsupported');
  if (typeof path !== 'string') throw new TypeError(`Cannot find module '${String(path)}'`);
  const known = modules.get(path);
  if (known !== undefined) return known;
  await asyncCall('loadModule', {path});
  return modules.get(path)!;
}

/** @param what to read from the module's exports. @returns JSON, see analyze.ts */
function analyze(what: 'module' | 'schema' | 'router' | 'auth', path: string): string {
  const namespace = modules.get(path)!;
  switch (what) {
    case 'module':
      return analyzeModule(namespace);
    case 'schema':
      return analyzeSchema(namespace);
    case 'router':
      return analyzeRouter(namespace);
    case 'auth':
      return analyzeAuthConfig(namespace);
  }
}

const shared = globalThis as unknown as {__svcHost?: HostCall; __svcKernel?: object};
state.host = shared.__svcHost!;
delete shared.__svcHost;
shared.__svcKernel = {
  open,
  importing,
  addModule,
  imported,
  isReusable,
  enter,
  run,
  start,
  runCode,
  analyze,
  settle: settleCall,
  event: networkEvent,
};
