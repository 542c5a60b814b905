/**
 * Removes capabilities that Node's permission model leaves open and that a tenant's code must not have: signals to
 * processes of the same user, SQLite (whose ATTACH opens any file), the inspector, V8's flags and other ways to make V8
 * write files, and access to Node's internals.
 */
import {syncBuiltinESMExports} from 'node:module';
import os from 'node:os';

/** Members of `process` that reach outside it or into its internals. */
const HIDDEN = [
  '_kill',
  '_debugProcess',
  '_debugEnd',
  '_startProfilerIdleNotifier',
  '_stopProfilerIdleNotifier',
  '_linkedBinding',
  'binding',
  'dlopen',
  'setuid',
  'seteuid',
  'setgid',
  'setegid',
  'setgroups',
  'initgroups',
  'channel',
  'send',
  'disconnect',
];

/**
 * Members of modules that make V8 write files, or run WebAssembly without checks. Not every version has all of them.
 */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'node:v8': ['setFlagsFromString', 'setHeapSnapshotNearHeapLimit', 'setHeapProfileNearHeapLimit'],
  'node:trace_events': ['createTracing'],
};

export class NotPermitted extends Error {
  readonly code = 'ERR_ACCESS_DENIED';
  constructor(what: string) {
    super(`${what} is not permitted in functions`);
  }
}

/** Call this before any code of the deployment runs. */
export function narrow(): void {
  // Even its own process must not be signalled, because other calls share it.
  replace(process, 'kill', () => {
    throw new NotPermitted('process.kill');
  });
  const {setPriority} = os;
  replace(os, 'setPriority', (...args: [number] | [number, number]) => {
    if (args.length > 1 && args[0] !== 0 && args[0] !== process.pid) throw new NotPermitted('os.setPriority');
    setPriority(...(args as [number]));
  });
  for (const name of HIDDEN) {
    if (!(name in process)) continue;
    replace(process, name, () => {
      throw new NotPermitted(`process.${name}`);
    });
  }
  for (const [module, names] of Object.entries(REFUSED)) {
    const members = builtin(module);
    for (const name of names) if (name in members) replace(members, name, refused(`${module} ${name}`));
  }
  const sqlite = builtin('node:sqlite');
  for (const name of Object.keys(sqlite)) {
    if (typeof sqlite[name] === 'function') replace(sqlite, name, refused(`node:sqlite ${name}`));
  }
  syncBuiltinESMExports();
}

/** Returns a class or function that can be imported but throws when it is used. */
function refused(what: string): () => never {
  return function refuse(): never {
    throw new NotPermitted(what);
  };
}

/** Returns an empty object for a module that older versions do not have. */
function builtin(name: string): Record<string, unknown> {
  try {
    return (process.getBuiltinModule(name) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {value, writable: false, configurable: false, enumerable: true});
}
