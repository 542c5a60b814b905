/** The key routes, which the supervisor answers, and GET /api/whoami. */
import type {Buffer} from 'node:buffer';
import {Compile} from 'typebox/compile';
import {ALL_RIGHTS, type Grant, type KeyRequest} from '../../shared/ipc/keys.ts';
import {ROUTER_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {KeyBody, RotateBody} from '../../shared/protocol/keys.ts';
import {keyOf} from '../auth/credentials.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import {bodyOf} from './json-body.ts';

const keyBody = Compile(KeyBody);
const rotateBody = Compile(RotateBody);

/** GET /api/whoami */
export function whoAmI(exchange: Exchange): void {
  const key = keyOf(exchange.principal);
  const {scopes, tenants, tables, expires_at, rate_limit} = key?.grant ?? ALL_RIGHTS;
  const answer = {id: key?.id ?? null, name: key?.name ?? 'admin', scopes, tenants, tables, expires_at, rate_limit};
  exchange.reply(ROUTER_OPERATIONS.whoami.success, JSON.stringify(answer));
}

export type KeyOperation = Extract<RouterOperation, `keys.${string}`>;

/** @param id of the key, if the path names one. @throws the supervisor's ServiceError, op.invalid_input 400 */
export async function answerKeys(
  control: ControlChannel,
  exchange: Exchange,
  operation: KeyOperation,
  id: string,
): Promise<void> {
  const answer = await control.keys(requestOf(operation, keyOf(exchange.principal)?.id ?? null, id, exchange.body));
  exchange.reply(ROUTER_OPERATIONS[operation].success, answer === null ? '' : JSON.stringify(answer));
}

function requestOf(operation: KeyOperation, actor: KeyRequest['actor'], id: string, body: Buffer): KeyRequest {
  switch (operation) {
    case 'keys.list':
      return {action: 'key_list', actor};
    case 'keys.get':
      return {action: 'key_get', actor, key: id};
    case 'keys.create':
      return {action: 'key_create', actor, ...keyIn(body)};
    case 'keys.rotate':
      return {action: 'key_rotate', actor, key: id, overlapMs: overlapOf(body) * 1000};
    case 'keys.revoke':
      return {action: 'key_revoke', actor, key: id};
  }
}

function keyIn(bytes: Buffer): {name: string; grant: Grant} {
  const body = bodyOf(keyBody, bytes);
  const {name, scopes, tenants = null, tables = null, expires_in_seconds: seconds = null, rate_limit = null} = body;
  const expires_at = seconds === null ? null : Date.now() + seconds * 1000;
  return {name, grant: {scopes, tenants, tables, expires_at, rate_limit}};
}

function overlapOf(bytes: Buffer): number {
  return bodyOf(rotateBody, bytes).overlap_seconds;
}
