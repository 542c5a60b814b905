/** The small record `member.<host>`: JSON, checked when it is read. */
import Type, {type Static} from 'typebox';
import {HOST_NAME} from '../../shared/protocol/cluster.ts';
import {CAPACITY_MAX} from '../limits.ts';
import {decodeStored} from '../log/stored-json.ts';

export const MEMBER_FORMAT = 1;
export const MEMBER_PREFIX = 'member.';

const Count = Type.Integer({minimum: 1, maximum: Number.MAX_SAFE_INTEGER});

const IDENTITY = {
  format: Type.Literal(MEMBER_FORMAT),
  incarnation: Count,
  start: Type.String({pattern: '^[0-9a-f]{32}$'}),
  counter: Count,
};
const ServingMember = Type.Object(
  {
    ...IDENTITY,
    state: Type.Union([Type.Literal('live'), Type.Literal('draining')]),
    peer: Type.String({minLength: 1, maxLength: 261}),
    capacity: Type.Number({exclusiveMinimum: 0, maximum: CAPACITY_MAX}),
    versions: Type.Object(
      {svc: Type.String({minLength: 1, maxLength: 64}), records: Count, storage: Count},
      {additionalProperties: false},
    ),
  },
  {additionalProperties: false},
);
const EndedMember = Type.Object(
  {...IDENTITY, state: Type.Union([Type.Literal('expired'), Type.Literal('left')])},
  {additionalProperties: false},
);
const StoredMember = Type.Union([ServingMember, EndedMember]);

/**
 * - `incarnation` names one uninterrupted membership of a host, from 1. It grows by one each time that the host joins.
 *   Once the record has a higher one, nothing of the earlier ones serves.
 * - `start` is a random id of the start of svc that wrote it, so that a second start with the same host name is noticed.
 * - `counter` grows with each update, within an incarnation. The host that expires another one keeps its counter.
 */
export type MemberRecord = Static<typeof StoredMember>;
export type ServingMember = Static<typeof ServingMember>;
export type EndedMember = Static<typeof EndedMember>;

/** What a host reports about itself. */
export type AboutHost = {
  /** Host and port at which other routers reach it. */
  readonly peer: string;
  /** A weight, above 0 and up to `CAPACITY_MAX`. */
  readonly capacity: number;
  /** The release of svc, and the newest formats of log records and of tenants' files that it can read and write. */
  readonly versions: {readonly svc: string; readonly records: number; readonly storage: number};
};

export function isHostName(name: string): boolean {
  return HOST_NAME.test(name);
}

export function memberKey(host: string): string {
  return MEMBER_PREFIX + host;
}

/** `live` serves and gets tenants; `draining` serves what it has. */
export function isServing(record: MemberRecord): record is ServingMember {
  return record.state === 'live' || record.state === 'draining';
}

export function encodeMember(record: MemberRecord): Buffer {
  return Buffer.from(JSON.stringify(record));
}

/** @throws LogError */
export function decodeMember(host: string, bytes: Buffer): MemberRecord {
  return decodeStored(StoredMember, bytes, `the entry of the host ${host}`);
}
