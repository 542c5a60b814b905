/**
 * A Node process of a deployment. It runs actions (many at a time), one service, or one sandbox for the worker at the
 * other end of descriptor 3. It ends when that pipe closes, and runs on the oldest Node version that modules can
 * request.
 *
 * Before it loads code of the deployment, it closes what Node's permission model leaves open (`narrowed.ts`,
 * `child-egress.ts`). Each call has its own kernel (`worker/runtime/guest/node-call.ts`); the async context identifies
 * the call that code belongs to.
 */
import {AsyncLocalStorage} from 'node:async_hooks';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {Socket} from 'node:net';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {Script} from 'node:vm';
import {unverified} from '../execution.ts';
import {type HostCall, HostOp, type RealmError} from '../guest/host-call.ts';
import type * as nodeCall from '../guest/node-call.ts';
import type {NodeCall} from '../guest/node-call.ts';
import {NODE_FRAME_BYTES_MAX} from '../limits.ts';
import {FrameReceiver} from '../process/frames.ts';
import {closeNetwork} from './child-egress.ts';
import {ChildSandbox, type Execution} from './child-sandbox.ts';
import {ChildService} from './child-service.ts';
import {narrow} from './narrowed.ts';
import {type Framed, type FromNode, frame, SERVICE_ACTION, type ToNode} from './node-message.ts';

const channel = new Socket({fd: 3});
const calls = new Map<number, Execution>();
const current = new AsyncLocalStorage<Execution>();
const KERNEL = new Script(
  `(function () {${readFileSync(join(dirname(fileURLToPath(import.meta.url)), 'node-call.js'), 'utf8')}\nreturn svcCall;})`,
  {filename: 'svc:call'},
).runInThisContext() as () => typeof nodeCall;
const {analyzeModule, describeThrown, consoleMethods, openService} = KERNEL();
const METHODS = Object.keys(consoleMethods) as (keyof NodeCall['console'])[];
/** The service or sandbox of this process; null in a process for actions. */
let service: ChildService | null = null;
let sandbox: ChildSandbox | null = null;
/** The directory of the code, as it appears in stacks and in Node's errors: as a path and as a URL. */
let root = '';
let rootUrl = '';
/** Saved here, because user code can replace `process.exit`. */
const exit = process.exit.bind(process);

const frames = new FrameReceiver(
  (head, tail) => received({...head, text: tail.toString()} as Framed<ToNode>),
  NODE_FRAME_BYTES_MAX,
);
channel.on('data', (chunk: Buffer) => frames.push(chunk));
// The worker is gone, for whatever reason.
channel.on('close', () => exit(0));
channel.on('error', () => exit(0));
process.on('uncaughtException', thrown => crashed(thrown));
process.on('unhandledRejection', reason => {
  // If the service continued despite the rejection, the supervisor would never restart it.
  if (service !== null) crashed(reason);
  else current.getStore()?.kernel.console.error('Unhandled rejection:', reason);
});

function send(message: FromNode, text = ''): void {
  channel.write(frame({...message, text}));
}

function received(message: Framed<ToNode>): void {
  switch (message.type) {
    case 'open':
      open(message);
      return;
    case 'analyze':
      void analyze(message.module);
      return;
    case 'call':
      call(message);
      return;
    case 'serve':
      service = new ChildService({open: openService, load, send, described, relocated});
      void service.serve(message.module);
      return;
    case 'changed':
      service?.changed(message.watch, message.ok, message.text);
      return;
    case 'stop':
      service?.stop();
      return;
    case 'execute': {
      const {action, codeChars, text} = message;
      sandbox ??= new ChildSandbox({channel, send, described, relocated, within: (of, run) => current.run(of, run)});
      sandbox.execute(action, text.slice(0, codeChars), text.slice(codeChars), KERNEL().openCall);
      return;
    }
    case 'drop':
      sandbox?.drop(message.action);
      return;
    case 'answer': {
      if (message.action === SERVICE_ACTION) {
        service?.settle(message.call, message.text);
        return;
      }
      const running = calls.get(message.action);
      if (running !== undefined) current.run(running, () => running.kernel.settle(message.call, message.text));
      return;
    }
    case 'look':
      send({type: 'alive'});
  }
}

function open({root: directory, env, egress}: ToNode & {type: 'open'}): void {
  root = directory;
  rootUrl = pathToFileURL(root).href;
  closeNetwork(egress, channel);
  narrow();
  // Set here and not when the process starts, because Node and its libraries read options from some variables.
  for (const [name, value] of Object.entries(env)) process.env[name] = value;
  // Bundled packages call CommonJS `require` for Node's modules and for packages that are not bundled.
  define(globalThis, 'require', createRequire(join(root, 'package.json')));
  // The methods are replaced on the existing object, because modules of Node and of users hold a reference to it.
  for (const [name, method] of Object.entries(sharedConsole())) define(console, name, method);
  send({type: 'ready'});
}

/** Methods without their own log line: their arguments are logged as by `console.log`, or not at all. */
const SHOWN_AS_LOG = ['dir', 'dirxml', 'table', 'group', 'groupCollapsed', 'count'];
const SILENT = ['groupEnd', 'countReset', 'clear', 'profile', 'profileEnd', 'timeStamp'];

/** Lines are attributed to their call. Lines of an unknown call are dropped. */
function sharedConsole(): Record<string, (...values: unknown[]) => void> {
  const own = () => current.getStore()?.kernel.console ?? service?.console;
  const shared: Record<string, (...values: unknown[]) => void> = {
    assert: (isTrue, ...values) => {
      if (!isTrue) own()?.error('Assertion failed', ...values);
    },
  };
  for (const name of SHOWN_AS_LOG) shared[name] = (...values) => own()?.log(...values);
  for (const name of SILENT) shared[name] = () => undefined;
  for (const name of METHODS) {
    shared[name] = (...values) => (own()?.[name] as ((...values: unknown[]) => void) | undefined)?.(...values);
  }
  return shared;
}

function call({action, module, name, caller, text: args}: Framed<ToNode & {type: 'call'}>): void {
  const host: HostCall = (op, a, b, c) => {
    switch (op) {
      case HostOp.done:
        ended(action, true, String(b));
        return '+';
      case HostOp.failed:
        ended(action, false, relocated(String(b)));
        return '+';
      case HostOp.log:
        send({type: 'log', action}, relocated(String(a)));
        return '+';
      case HostOp.identity:
        if (!('invalid' in caller)) return `+${caller.identity ?? 'null'}`;
        return `-${JSON.stringify({name: 'Error', message: unverified(caller)})}`;
      case HostOp.now:
        return `+${Date.now()}`;
      case HostOp.start:
        send({type: 'start', action, call: Number(a), operation: String(b)}, String(c));
        return '+';
      default:
        return `-${JSON.stringify({name: 'Error', message: 'this is not available in Node'})}`;
    }
  };
  const running: Execution = {action, kernel: KERNEL().openCall(host)};
  calls.set(action, running);
  send({type: 'begun', action});
  void current.run(running, () => running.kernel.run(() => load(module), `${module}.js`, name, args));
}

function ended(action: number, ok: boolean, text: string): void {
  calls.delete(action);
  const isTooLong = text.length > NODE_FRAME_BYTES_MAX / 3;
  if (isTooLong) send({type: 'outcome', action, ok: false}, JSON.stringify(TOO_LARGE));
  else send({type: 'outcome', action, ok}, text);
}

const TOO_LARGE: RealmError = {name: 'Error', message: 'Function return value is too large', stack: null};

function load(module: string): Promise<Record<string, unknown>> {
  return import(new URL(`${module}.js`, rootUrl).href) as Promise<Record<string, unknown>>;
}

async function analyze(module: string): Promise<void> {
  try {
    send({type: 'analyzed', module, ok: true}, analyzeModule(await load(module)));
  } catch (thrown) {
    send({type: 'analyzed', module, ok: false}, described(thrown));
  }
}

/** Handles an uncaught error: its call fails, and the process accepts no more calls. */
function crashed(thrown: unknown): void {
  const running = current.getStore();
  if (sandbox !== null) {
    sandbox.crashed(thrown, running ?? null);
    return;
  }
  const text = described(thrown);
  if (running !== undefined && !calls.delete(running.action)) return; // it already has its result
  running?.kernel.end();
  send({type: 'uncaught', action: running?.action ?? null}, text);
}

function described(thrown: unknown): string {
  return relocated(JSON.stringify(describeThrown(thrown)));
}

/**
 * Replaces our directories in stacks and messages by the deployment's own file names. Where the code is stored on the
 * server is not visible to the deployment.
 */
function relocated(text: string): string {
  return text.replaceAll(rootUrl, '').replaceAll(root, '');
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {value, writable: true, configurable: true, enumerable: false});
}
