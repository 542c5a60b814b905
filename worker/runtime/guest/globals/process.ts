/**
 * `process`, which has only `env`: the tenant's variables. Each is requested from the host separately, so that the host
 * knows which variables a result depends on.
 */
import {HostOp} from '../host-call.ts';
import {hostText} from '../state.ts';
import {define} from './define.ts';
import {showAs} from './inspect.ts';

const parse = JSON.parse;

function variable(name: string): string | undefined {
  return (parse(hostText(HostOp.env, name)) as string | null) ?? undefined;
}

const handler: ProxyHandler<Record<string, string>> = {
  get: (_target, name) => (typeof name === 'string' ? variable(name) : undefined),
  has: (_target, name) => typeof name === 'string' && variable(name) !== undefined,
  ownKeys: () => parse(hostText(HostOp.envNames)) as string[],
  getOwnPropertyDescriptor: (_target, name) => {
    const value = typeof name === 'string' ? variable(name) : undefined;
    return value === undefined ? undefined : {value, writable: false, enumerable: true, configurable: true};
  },
  set: refuse,
  defineProperty: refuse,
  deleteProperty: refuse,
  setPrototypeOf: refuse,
  preventExtensions: refuse,
};

function refuse(): never {
  throw new TypeError('process.env is read-only');
}

export function installProcess(): void {
  const env = new Proxy<Record<string, string>>(Object.create(null), handler);
  showAs(env, '[process.env]');
  define(globalThis, 'process', Object.freeze({env}));
}
