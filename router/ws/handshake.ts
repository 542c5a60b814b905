/** Validates the first frame of a client. */
import {asServiceError, ServiceError} from '../../shared/errors.ts';
import {PROTOCOL} from '../../shared/protocol/ws/version.ts';
import {parseJson} from '../../shared/values/json.ts';

/** @returns null if the frame is a valid client_hello, otherwise the violation, which is fatal */
export function judgeFirstFrame(frame: Buffer, isBinary: boolean): ServiceError | null {
  if (isBinary) return new ServiceError('protocol.unsupported_binary', 'the handshake takes JSON text frames only');
  let message: unknown;
  try {
    message = parseJson(frame);
  } catch (caught) {
    return new ServiceError(
      'protocol.invalid_json',
      asServiceError(caught).message.replace('the body', 'the first frame'),
    );
  }
  const {type, protocol} = fieldsOf(message);
  if (type !== 'client_hello') {
    return new ServiceError('protocol.unsupported_message_type', 'the first frame must be client_hello', {
      receivedType: shown(type),
      expectedType: 'client_hello',
    });
  }
  if (protocol !== PROTOCOL) {
    return new ServiceError('protocol.unsupported_version', `client_hello must name protocol ${PROTOCOL}`, {
      receivedProtocol: shown(protocol),
    });
  }
  return null;
}

function fieldsOf(message: unknown): {type?: unknown; protocol?: unknown} {
  return typeof message === 'object' && message !== null ? message : {};
}

/** The received value, if it is short enough to repeat; null: there was none. */
function shown(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, 100);
  return typeof value === 'number' || typeof value === 'boolean' ? value : null;
}
