/** The small records of API keys: JSON, checked when it is read, because another host has written it. */
import Type from 'typebox';
import type {KeyRecord} from '../../shared/ipc/keys.ts';
import {SCOPES} from '../../shared/rights.ts';
import {decodeStored} from '../log/stored-json.ts';

const KEY_FORMAT = 1;

const Ms = Type.Integer({minimum: 0, maximum: Number.MAX_SAFE_INTEGER});
const Id = Type.String({pattern: '^[a-z0-9]{12}$'});
const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([Type.Null(), schema]);

const Key = Type.Object(
  {
    id: Id,
    name: Type.String(),
    scopes: Type.Array(Type.Enum([...SCOPES])),
    tenants: orNull(Type.Array(Type.String())),
    tables: orNull(Type.Array(Type.String())),
    expires_at: orNull(Ms),
    rate_limit: orNull(
      Type.Object(
        {requests_per_second: Type.Number({exclusiveMinimum: 0}), burst: Type.Integer({minimum: 1})},
        {additionalProperties: false},
      ),
    ),
    created_at: Ms,
    created_by: orNull(Id),
    family: Type.Optional(Id),
    secrets: Type.Array(
      Type.Object(
        {sha256: Type.String({pattern: '^[0-9a-f]{64}$'}), created_at: Ms, expires_at: orNull(Ms)},
        {additionalProperties: false},
      ),
      {minItems: 1, maxItems: 2},
    ),
  },
  {additionalProperties: false},
);

const StoredKey = Type.Object({format: Type.Literal(KEY_FORMAT), key: Key}, {additionalProperties: false});
const StoredChange = Type.Object(
  {format: Type.Literal(KEY_FORMAT), key: Key, revision: Ms},
  {additionalProperties: false},
);

/** A key as it is to be, and the revision of its record that it replaces. 0: it is new. */
export type KeyChange = {readonly key: KeyRecord; readonly revision: number};

export function encodeKey(key: KeyRecord): Buffer {
  return Buffer.from(JSON.stringify({format: KEY_FORMAT, key}));
}

/** @throws LogError */
export function decodeKey(id: string, bytes: Buffer): KeyRecord {
  const {key} = decodeStored(StoredKey, bytes, `the entry of the API key ${id}`);
  return key;
}

export function encodeChange({key, revision}: KeyChange): Buffer {
  return Buffer.from(JSON.stringify({format: KEY_FORMAT, key, revision}));
}

/** @throws LogError */
export function decodeChange(bytes: Buffer): KeyChange {
  const {key, revision} = decodeStored(StoredChange, bytes, 'the newest change of an API key');
  return {key, revision};
}
