/** Wire types of the audit log. GET /api/audit */
import Type, {type Static} from 'typebox';
import {AUDIT_PAGE_RECORDS_MAX} from '../limits.ts';

const EpochMs = Type.Number({description: 'epoch milliseconds'});
const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});
const common = {
  version: Type.Literal(1),
  sequence: Type.Integer({minimum: 1, description: 'without gaps'}),
  at: EpochMs,
};
const digest = {integrity_sha256: Type.String({description: 'chains it to the record before'})};

/** On disk before the action starts. */
export const AuditIntent = Type.Object({
  ...common,
  kind: Type.Literal('intent'),
  operation: Type.String(),
  tenant: orNull(Type.String(), 'null: the server'),
  subject: Type.Record(Type.String(), Type.String(), {
    description: 'names and ids of the affected resources, never values',
  }),
  key: orNull(Type.String(), 'the id of the key; null: an admin credential'),
  key_name: Type.String(),
  session: Type.Optional(Type.String({description: 'the session of the dashboard; absent: none'})),
  address: Type.String({description: 'of the client'}),
  request_id: Type.String(),
  ...digest,
});
export const AuditOutcome = Type.Object({
  ...common,
  kind: Type.Literal('outcome'),
  of: Type.Integer({description: 'the sequence of the intent'}),
  status: orNull(
    Type.Integer(),
    'of the response; null: the client had disconnected, and the action may have been carried out',
  ),
  code: orNull(Type.String(), 'of the error that was answered'),
  ...digest,
});
/** A log begins, or continues in a new file. */
export const AuditBegun = Type.Object({
  ...common,
  kind: Type.Literal('begun'),
  reason: Type.String({description: 'that there was none, or where the one before it was put'}),
  ...digest,
});
export const AuditRecord = Type.Union([AuditIntent, AuditOutcome, AuditBegun]);
export type AuditRecord = Static<typeof AuditRecord>;

/** Requests that were refused because of their credential. */
export const AuditRefused = Type.Object({
  ...common,
  kind: Type.Literal('refused'),
  operation: orNull(Type.String(), 'null: it came to no route, because its origin was refused'),
  tenant: orNull(Type.String(), 'that was asked for, whether or not there is one'),
  code: Type.String({description: 'of the error'}),
  key: orNull(Type.String(), 'the id of a valid key without this right; null: no valid key'),
  key_name: orNull(Type.String(), 'of that key'),
  shown: orNull(
    Type.String(),
    'description of an invalid credential: svc_key_ with the id, or other; null: none was sent',
  ),
  address: Type.String({description: 'of the client'}),
  request_id: Type.String(),
  count: Type.Integer({
    minimum: 1,
    description:
      'how many, in the minute before: the first of its kind is recorded at once, further ones together, with the fields of the last',
  }),
  ...digest,
});

const page = {
  next_cursor: Type.Integer({description: "the next page's after"}),
  has_more: Type.Boolean(),
  latest_sequence: Type.Integer(),
  cursor_floor: Type.Integer({description: 'the oldest stored record'}),
  previous_sha256: Type.String({description: 'integrity_sha256 of the record before the first of the page'}),
};
export const AuditPage = Type.Object({
  records: Type.Array(AuditRecord, {description: 'oldest first'}),
  ...page,
});
export type AuditPage = Static<typeof AuditPage>;

export const AuditQuery = Type.Object({
  after: Type.Optional(Type.Integer({minimum: 0, description: 'a sequence; absent: from the oldest stored record'})),
  limit: Type.Optional(Type.Integer({minimum: 1, description: `above ${AUDIT_PAGE_RECORDS_MAX} is that`})),
});

/** GET /api/audit/refusals */
export const RefusalPage = Type.Object({
  records: Type.Array(Type.Union([AuditRefused, AuditBegun]), {description: 'oldest first'}),
  ...page,
});
export type RefusalPage = Static<typeof RefusalPage>;
