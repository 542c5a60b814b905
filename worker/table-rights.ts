/** Tables that only a body names, judged for a key that is limited to tables (`shared/rights.ts`). What cannot be judged is refused. */
import type {Buffer} from 'node:buffer';
import {ServiceError} from '../shared/errors.ts';
import type {Operation} from '../shared/operations.ts';
import {type BodyTables, RIGHTS} from '../shared/rights.ts';
import {parseJson} from '../shared/values/json.ts';

/**
 * @param allowed the key's
 * @param body whole
 * @throws auth.forbidden 403, op.invalid_input 400
 */
export function judgeBodyTables(op: Operation, allowed: readonly string[], body: Buffer): void {
  const rule = RIGHTS[op].tables;
  const isJudged = typeof rule === 'object' && 'at' in rule;
  if (!isJudged) throw forbidden('what this touches cannot be told', allowed);
  for (const named of objectsOf(rule, parseJson(body))) judgeOne(rule, named, allowed);
}

function objectsOf({each}: BodyTables, body: unknown): readonly unknown[] {
  if (each === undefined) return [body];
  const list = memberOf(body, each);
  return Array.isArray(list) ? list : [undefined];
}

function judgeOne({at}: BodyTables, named: unknown, allowed: readonly string[]): void {
  const tables = at.map(path => path.split('.').reduce(memberOf, named)).filter(table => table !== undefined);
  if (tables.length === 0) throw forbidden(`the body must name one: ${at.join(' or ')}`, allowed);
  for (const table of tables) {
    if (typeof table === 'string' && allowed.includes(table)) continue;
    throw forbidden(`${JSON.stringify(table)?.slice(0, 64)} is not one of them`, allowed);
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function forbidden(why: string, tables: readonly string[]): ServiceError {
  return new ServiceError('auth.forbidden', `the key is limited to tables: ${why}`, {tables});
}
