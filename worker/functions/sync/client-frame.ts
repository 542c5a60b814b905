/** A message of a client, as bytes: what it says, or how it breaks the protocol. */
import type {Buffer} from 'node:buffer';
import {asServiceError, ServiceError} from '../../../shared/errors.ts';
import {ClientMessage} from '../../../shared/protocol/function-socket/client-message.ts';
import {parseJson} from '../../../shared/values/json.ts';
import {checkWireType, wireType} from '../../wire-type.ts';

const clientMessage = wireType(ClientMessage);

const TYPES: ReadonlySet<unknown> = new Set<ClientMessage['type']>([
  'client_hello',
  'query_set',
  'mutation',
  'action',
  'authenticate',
  'clear_auth',
]);

/** @throws protocol.* , each of which ends the socket */
export function readMessage(bytes: Buffer, isBinary: boolean): ClientMessage {
  if (isBinary) throw new ServiceError('protocol.unsupported_binary', 'messages are JSON text');
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (caught) {
    throw new ServiceError('protocol.invalid_json', asServiceError(caught).message.replace('the body', 'the message'));
  }
  const {type} = (typeof value === 'object' && value !== null ? value : {}) as {type?: unknown};
  if (!TYPES.has(type)) {
    throw new ServiceError('protocol.unsupported_message_type', `type must be one of ${[...TYPES].join(', ')}`, {
      receivedType: typeof type === 'string' ? type.slice(0, 100) : null,
    });
  }
  try {
    return checkWireType(clientMessage, value, `${String(type)}.`);
  } catch (caught) {
    throw new ServiceError('protocol.invalid_json', asServiceError(caught).message);
  }
}
