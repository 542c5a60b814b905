/** The place of a record as text, which a worker keeps beside its tenant's file and hands back at the next open. */
import Type from 'typebox';
import Value from 'typebox/value';
import type {LogPlace} from '../../engine/replication/appender.ts';
import {NOTE_BYTES_MAX} from '../limits.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';

const Count = Type.Integer({minimum: 1, maximum: Number.MAX_SAFE_INTEGER});
const Place = Type.Object(
  {
    kind: Type.Union([Type.Literal('open'), Type.Literal('commit'), Type.Literal('migrate'), Type.Literal('close')]),
    epoch: Count,
    n: Count,
    sequence: Count,
    digest: Type.String({pattern: '^[0-9a-f]{64}$'}),
    openedBy: Type.String({maxLength: NOTE_BYTES_MAX}),
  },
  {additionalProperties: false},
);

/** @param openedBy note of the newest `open` up to there */
export function encodePlace({kind, epoch, n, sequence, digest}: LogPosition, openedBy: string): LogPlace {
  return JSON.stringify({kind, epoch, n, sequence, digest: digest.toString('hex'), openedBy});
}

/** @throws LogError: it comes from a process that runs code of the tenant */
export function decodePlace(place: LogPlace): {position: LogPosition; openedBy: string} {
  let stored: unknown;
  try {
    stored = JSON.parse(place);
  } catch (cause) {
    throw new LogError('damaged', 'the place of a file in its log is no JSON', {cause});
  }
  if (!Value.Check(Place, stored)) throw new LogError('damaged', 'the place of a file in its log breaks its format');
  const {openedBy, digest, ...rest} = stored;
  return {position: {...rest, digest: Buffer.from(digest, 'hex')}, openedBy};
}
