/**
 * `ctx.db`. The host carries out every call at once, and the promise it returns is already settled. A call that is not
 * awaited has happened all the same. Each call parses its documents again, so changing one changes nothing else.
 *
 * It is a plain object whose members need no `this`: apps pass them alone (`ids.map(ctx.db.get)`), destructure them,
 * spread them into their own objects and wrap them in proxies. A missing member throws an error with its name. Those
 * members are on the prototype, so spreading does not touch them.
 */
import {decodeValue, encodeDocument, encodePatch} from '../../../shared/values/wire-value.ts';
import {HostOp} from './host-call.ts';
import {QueryInitializer} from './query-builder.ts';
import {hostText, state} from './state.ts';

const stringify = JSON.stringify;

const UNSUPPORTED = {
  replace(): never {
    throw new Error('db.replace is not supported; use db.patch');
  },
  normalizeId(table: unknown, id: unknown): string | null {
    if (!isForConvex()) throw new Error('db.normalizeId is not supported');
    return typeof id === 'string' && tableOf(id) === table ? id : null;
  },
  table(): never {
    throw new Error('db.table is not supported');
  },
  /** Libraries copy this member into their own objects and seldom use it. */
  get system(): object {
    return SYSTEM;
  },
};

const noSystem = (): never => {
  throw new Error('db.system is not supported');
};
const SYSTEM = Object.freeze({get: noSystem, query: noSystem, normalizeId: noSystem});

const COMPAT = Symbol.for('svc.compat');
const has = Reflect.has;

/** Code written for Convex sets this mark, see sdk/compat. */
function isForConvex(): boolean {
  return has(globalThis, COMPAT);
}

/** Empty: the id is invalid, or its table does not exist. */
function tableOf(id: string): string {
  return hostText(HostOp.tableOf, id);
}

/** Convex's newer form passes the table before the id. */
function checkTable(table: unknown, id: unknown, call: string): void {
  if (!isForConvex()) throw new Error(`db.${call} with two arguments is not supported; use db.${call}(id)`);
  if (typeof id !== 'string') return;
  const its = tableOf(id);
  if (its !== '' && its !== table)
    throw new Error(`db.${call}: the id ${stringify(id)} is of table '${its}', not '${table}'`);
}

const NOT_IN_QUERIES = {
  __proto__: UNSUPPORTED,
  insert: () => readOnly('insert'),
  patch: () => readOnly('patch'),
  delete: () => readOnly('delete'),
};

function readOnly(call: string): never {
  throw new Error(`db.${call} is not available in queries, which only read`);
}

/** `ctx.db` of queries. */
export function databaseReader(): object {
  return Object.assign(Object.create(NOT_IN_QUERIES), readsOf(checkOfInvocation()));
}

/** `ctx.db` of mutations. */
export function databaseWriter(): object {
  const check = checkOfInvocation();
  return Object.assign(Object.create(UNSUPPORTED), readsOf(check), writesOf(check));
}

type Check = () => void;

function readsOf(check: Check): object {
  return {
    async get(id: unknown, second?: unknown): Promise<unknown> {
      check();
      // Any other second argument is the index that `map` passes.
      const isNamed = typeof second === 'string';
      if (isNamed) checkTable(id, second, 'get');
      const text = hostText(HostOp.get, checkId(isNamed ? second : id, 'get'));
      return text === '' ? null : decodeValue(text);
    },

    query(table: unknown): QueryInitializer {
      check();
      if (typeof table !== 'string') throw new TypeError(`Must provide arg 1 'tableName' to 'query', a string`);
      return new QueryInitializer(table, check);
    },
  };
}

function writesOf(check: Check): object {
  return {
    async insert(table: unknown, value: unknown): Promise<string> {
      check();
      if (table === undefined) throw new TypeError("Must provide arg 1 'table' to 'insert'");
      if (typeof table !== 'string')
        throw new Error(`Invalid argument 'table' for 'db.insert', expected string but got '${typeof table}'`);
      if (value === undefined) throw new TypeError("Must provide arg 2 'value' to 'insert'");
      return hostText(HostOp.insert, table, encodeDocument(value));
    },

    async patch(first: unknown, second: unknown, third?: unknown): Promise<null> {
      check();
      const isNamed = typeof second === 'string' && third !== undefined;
      if (isNamed) checkTable(first, second, 'patch');
      const [id, value] = isNamed ? [second, third] : [first, second];
      const known = checkId(id, 'patch');
      if (value === undefined) throw new TypeError("Must provide arg 2 'value' to 'patch'");
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        throw new Error("Invalid argument 'value' for 'db.patch': Value must be an Object");
      }
      const {set, removed} = encodePatch(value);
      hostText(HostOp.patch, known, set, stringify(removed));
      return null;
    },

    async delete(id: unknown, second?: unknown): Promise<null> {
      check();
      const isNamed = typeof second === 'string';
      if (isNamed) checkTable(id, second, 'delete');
      hostText(HostOp.delete, checkId(isNamed ? second : id, 'delete'));
      return null;
    },
  };
}

/** @returns a check that throws in any other invocation than this one */
function checkOfInvocation(): Check {
  const {invocation} = state;
  return () => {
    if (state.phase === 'import' || state.phase === 'idle') throw new Error("Can't use database at import time");
    if (state.invocation !== invocation) throw new Error('ctx.db was used after its function had ended');
  };
}

function checkId(id: unknown, call: string): string {
  if (id === undefined) throw new TypeError(`Must provide arg 1 'id' to '${call}'`);
  if (typeof id === 'string') return id;
  throw new Error(`Invalid argument 'id' for 'db.${call}', expected string but got '${typeof id}'`);
}
