/** The position of a record as JSON. */
import type {LogPosition} from '../log/record.ts';
import type {WirePosition} from './log-request.ts';

export function toWire({digest, ...rest}: LogPosition): WirePosition {
  return {...rest, digest: digest.toString('hex')};
}

export function fromWire({digest, ...rest}: WirePosition): LogPosition {
  return {...rest, digest: Buffer.from(digest, 'hex')};
}
