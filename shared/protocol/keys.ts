/** Wire types of keys. POST|GET|DELETE /api/keys… and GET /api/whoami */
import Type, {type Static} from 'typebox';
import {
  KEY_LIFE_SECONDS_MAX,
  KEY_NAME_CHARS_MAX,
  KEY_NAMES_MAX,
  KEY_OVERLAP_SECONDS_MAX,
  KEY_RATE_PER_SECOND_MAX,
  TABLE_NAME_CHARS_MAX,
} from '../limits.ts';
import {SCOPES} from '../rights.ts';
import {TENANT_ID} from '../tenant-id.ts';

const closed = {additionalProperties: false} as const;
const EpochMs = Type.Number({description: 'epoch milliseconds'});
const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});

const Scopes = Type.Array(Type.Enum([...SCOPES]), {minItems: 1, maxItems: SCOPES.length, uniqueItems: true});
/** Only valid names: tables travel with every request to its worker, whose frame has no space for arbitrary text. */
const namesOf = (name: Type.TString) => Type.Array(name, {minItems: 1, maxItems: KEY_NAMES_MAX, uniqueItems: true});
const Tenants = namesOf(Type.String({pattern: TENANT_ID.source}));
const Tables = namesOf(Type.String({maxLength: TABLE_NAME_CHARS_MAX, pattern: '^[A-Za-z][A-Za-z0-9_]*$'}));
const PerSecond = Type.Integer({minimum: 1, maximum: KEY_RATE_PER_SECOND_MAX});
const RateLimit = Type.Object({requests_per_second: PerSecond, burst: PerSecond}, closed);
const grant = {
  scopes: Scopes,
  tenants: orNull(Tenants, 'null: all, those made later too'),
  tables: orNull(Tables, 'null: all'),
  expires_at: orNull(EpochMs, 'null: never'),
  rate_limit: orNull(RateLimit, 'null: none of its own'),
};

/** POST /api/keys */
export const KeyBody = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: KEY_NAME_CHARS_MAX,
      description: 'no other key has it of those that you see',
    }),
    scopes: Scopes,
    tenants: Type.Optional(grant.tenants),
    tables: Type.Optional(grant.tables),
    expires_in_seconds: Type.Optional(
      orNull(Type.Integer({minimum: 1, maximum: KEY_LIFE_SECONDS_MAX}), 'from now; null: never'),
    ),
    rate_limit: Type.Optional(grant.rate_limit),
  },
  closed,
);
export type KeyBody = Static<typeof KeyBody>;

/** POST /api/keys/{key_id}/rotate */
export const RotateBody = Type.Object(
  {
    overlap_seconds: Type.Integer({
      minimum: 0,
      maximum: KEY_OVERLAP_SECONDS_MAX,
      description: 'for how long the secret before this one goes on to be valid',
    }),
  },
  closed,
);
export type RotateBody = Static<typeof RotateBody>;

export const Key = Type.Object({
  id: Type.String(),
  name: Type.String(),
  ...grant,
  created_at: EpochMs,
  created_by: orNull(Type.String(), 'the id of the key that made it; null: an admin credential'),
  last_used_at: orNull(EpochMs, 'updated every few seconds; null: never'),
  secrets: Type.Array(
    Type.Object({
      created_at: EpochMs,
      expires_at: orNull(EpochMs, 'when it ends before its key does; null: it does not'),
    }),
    {description: 'the newest first; two while one takes the place of the other'},
  ),
});
export type Key = Static<typeof Key>;

export const FoundKey = Type.Object({key: Key});
export const MadeKey = Type.Object({key: Key, secret: Type.String({description: 'shown this once'})});
export const KeyList = Type.Object({
  keys: Type.Array(Key, {description: 'by name'}),
  damaged: Type.Array(Type.String(), {description: 'ids of records that the disk changed: those keys are not valid'}),
});

/** GET /api/whoami */
export const WhoAmI = Type.Object({
  id: orNull(Type.String(), 'of the key; null: an admin credential'),
  name: Type.String(),
  ...grant,
});
