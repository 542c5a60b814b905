/** Parses a client's message from bytes, or reports how it breaks the protocol. */
import type {Buffer} from 'node:buffer';
import type {TSchema} from 'typebox';
import {checkWireType, type WireType, wireType} from '../../../../engine/wire-type.ts';
import {asServiceError, ServiceError} from '../../../../shared/errors.ts';
import {
  Action,
  Authenticate,
  ClearAuth,
  ClientHello,
  type ClientMessage,
  Mutation,
  QuerySet,
} from '../../../../shared/protocol/function-socket/client-message.ts';
import {parseJson} from '../../../../shared/values/json.ts';

/** One type per message, so that an error refers to the message type that was sent. */
const MESSAGES: ReadonlyMap<unknown, WireType<TSchema>> = new Map<ClientMessage['type'], WireType<TSchema>>([
  ['client_hello', wireType(ClientHello)],
  ['query_set', wireType(QuerySet)],
  ['mutation', wireType(Mutation)],
  ['action', wireType(Action)],
  ['authenticate', wireType(Authenticate)],
  ['clear_auth', wireType(ClearAuth)],
]);

/** @throws protocol.*, each of which ends the socket */
export function readMessage(bytes: Buffer, isBinary: boolean): ClientMessage {
  if (isBinary) throw new ServiceError('protocol.unsupported_binary', 'messages are JSON text');
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (caught) {
    throw new ServiceError('protocol.invalid_json', asServiceError(caught).message.replace('the body', 'the message'));
  }
  const {type} = (typeof value === 'object' && value !== null ? value : {}) as {type?: unknown};
  const message = MESSAGES.get(type);
  if (message === undefined) {
    throw new ServiceError(
      'protocol.unsupported_message_type',
      `type must be one of ${[...MESSAGES.keys()].join(', ')}`,
      {receivedType: typeof type === 'string' ? type.slice(0, 100) : null},
    );
  }
  try {
    return checkWireType(message, value, `${String(type)}.`) as ClientMessage;
  } catch (caught) {
    throw new ServiceError('protocol.invalid_json', asServiceError(caught).message);
  }
}
