/**
 * Checks an API key's rights that depend on the request body, by the table of rights (`shared/rights.ts`): the tables
 * of the request, for a key limited to some (requests whose tables cannot be determined are refused), and other effects
 * of a body, for a key without the scope that they need.
 */
import type {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {Operation} from '../../shared/operations.ts';
import {type BodyScope, type BodyTables, RIGHTS, type Scope} from '../../shared/rights.ts';
import {parseJson} from '../../shared/values/json.ts';

/** @param allowed the key's tables @param body complete @throws auth.forbidden 403, op.invalid_input 400 */
export function judgeBodyTables(op: Operation, allowed: readonly string[], body: Buffer): void {
  const rule = RIGHTS[op].tables;
  const isJudged = typeof rule === 'object' && 'at' in rule;
  if (!isJudged) throw forbidden('the tables of this request cannot be determined', allowed);
  for (const named of objectsOf(rule, parseJson(body))) judgeOne(rule, named, allowed);
}

/** @param lacking the scope that the key does not have @throws auth.forbidden 403, op.invalid_input 400 */
export function judgeBodyScope(op: Operation, lacking: Scope, body: Buffer): void {
  const {bodyScope: rule} = RIGHTS[op];
  assert(rule?.scope === lacking, `some bodies of ${op} need ${lacking}`);
  for (const [position, requested] of objectsOf(rule, parseJson(body)).entries()) {
    const member = memberOf(requested, rule.at);
    if (member === undefined || (rule.is !== undefined && member !== rule.is)) continue;
    const where = rule.each === undefined ? rule.at : `${rule.each}[${position}]`;
    throw new ServiceError('auth.forbidden', `the key lacks the scope ${lacking}, which ${where} needs`, {
      scope: lacking,
    });
  }
}

function objectsOf({each}: BodyTables | BodyScope, body: unknown): readonly unknown[] {
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
