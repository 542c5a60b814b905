/**
 * `ctx.db`. Every call is done by the host at once and answered by a promise that is settled already; a call that is not
 * awaited has happened all the same. Documents are parsed anew for each call: changing one changes nothing else.
 */
import {decodeValue, encodeDocument, encodePatch} from '../../../shared/values/wire-value.ts';
import {HostOp} from './host-call.ts';
import {QueryInitializer} from './query-builder.ts';
import {hostText, state} from './state.ts';

class DatabaseReader {
  readonly #check = checkOfInvocation();

  async get(id: unknown, ...more: unknown[]): Promise<unknown> {
    this.#check();
    if (more.length > 0) throw new Error('db.get with two arguments is not supported; use db.get(id)');
    const text = hostText(HostOp.get, checkId(id, 'get'));
    return text === '' ? null : decodeValue(text);
  }

  query(table: unknown): QueryInitializer {
    this.#check();
    if (typeof table !== 'string') throw new TypeError(`Must provide arg 1 'tableName' to 'query', a string`);
    return new QueryInitializer(table, this.#check);
  }

  replace(): never {
    throw new Error('db.replace is not supported; use db.patch');
  }
  normalizeId(): never {
    throw new Error('db.normalizeId is not supported');
  }
  table(): never {
    throw new Error('db.table is not supported');
  }
  get system(): never {
    throw new Error('db.system is not supported');
  }
}

class DatabaseWriter extends DatabaseReader {
  readonly #check = checkOfInvocation();

  async insert(table: unknown, value: unknown): Promise<string> {
    this.#check();
    if (table === undefined) throw new TypeError("Must provide arg 1 'table' to 'insert'");
    if (typeof table !== 'string')
      throw new Error(`Invalid argument 'table' for 'db.insert', expected string but got '${typeof table}'`);
    if (value === undefined) throw new TypeError("Must provide arg 2 'value' to 'insert'");
    return hostText(HostOp.insert, table, encodeDocument(value));
  }

  async patch(id: unknown, value: unknown): Promise<null> {
    this.#check();
    const known = checkId(id, 'patch');
    if (value === undefined) throw new TypeError("Must provide arg 2 'value' to 'patch'");
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Error("Invalid argument 'value' for 'db.patch': Value must be an Object");
    }
    const {set, removed} = encodePatch(value);
    hostText(HostOp.patch, known, set, JSON.stringify(removed));
    return null;
  }

  async delete(id: unknown): Promise<null> {
    this.#check();
    hostText(HostOp.delete, checkId(id, 'delete'));
    return null;
  }
}

export function databaseReader(): object {
  return new DatabaseReader();
}

export function databaseWriter(): object {
  return new DatabaseWriter();
}

/** @returns throws in any other invocation than this one */
function checkOfInvocation(): () => void {
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
