/** Texts of keys and of the caller's identity. */
import type {Named, OperationTexts} from './text.ts';

const GRANT = {
  scopes: ['data:read'],
  tenants: ['acme'],
  tables: ['cities'],
  expires_at: 1_800_086_400_000,
  rate_limit: {requests_per_second: 50, burst: 100},
};
const MADE = {
  ...{id: 'k3m9x2abcdef', name: 'reports', ...GRANT},
  ...{created_at: 1_800_000_000_000, created_by: null, last_used_at: null},
  secrets: [{created_at: 1_800_000_000_000, expires_at: null}],
};
const {scopes, tenants, tables, rate_limit} = GRANT;
const BODY = {name: 'reports', scopes, tenants, tables, expires_in_seconds: 86_400, rate_limit};
const SECRET = 'svc_key_k3m9x2abcdef_A7dK2mQ9xLr4TzVb8NcYp3WfGhJs6Eu1Ra0Xo5MqBvC3kZ9d2';
const FROM_CREATE = {operation: 'keys.create', values: {key_id: '$response.body#/key/id'}};

export const KEY_TEXTS: OperationTexts<Named<'keys'> | 'whoami' | Named<'audit'>> = {
  'audit.page': {
    summary: "A page of the audit log: operators' actions",
    description:
      'Each action has an intent, which is on disk before the action begins, and an outcome. ' +
      '`integrity_sha256` is the SHA-256 of the previous digest, a line feed and the JSON of the record ' +
      'without this member.',
    errors: ['op.storage_damaged'],
    example: {
      query: {after: 0, limit: 100},
      answer: {
        records: [
          {
            ...{version: 1, sequence: 1, at: 1_800_000_000_000, kind: 'begun', reason: 'there was none'},
            integrity_sha256: '9d0c7a41f1b2e6d8350c4f9a7be21d6680a3f5c9127e4bd05f68a1c3e7924b0d',
          },
        ],
        next_cursor: 1,
        has_more: false,
        latest_sequence: 1,
        cursor_floor: 1,
        previous_sha256: '0'.repeat(64),
      },
    },
  },
  'audit.refusals': {
    summary: 'A page of the refusal log: requests without the required rights',
    description:
      'The first refusal of a kind is recorded within a second or two; a minute later the number of ' +
      'further ones follows. The log has a digest chain of its own, as the audit log has.',
    errors: ['op.storage_damaged'],
    example: {
      query: {after: 0, limit: 100},
      answer: {
        records: [
          {
            ...{version: 1, sequence: 2, at: 1_800_000_000_000, kind: 'refused', operation: 'env.set', tenant: 'acme'},
            ...{code: 'auth.forbidden', key: 'k3m9x2abcdef', key_name: 'reports', shown: null},
            ...{address: '192.0.2.7', request_id: 'f3a1b2c4d5-1x', count: 1},
            integrity_sha256: '41c2d0e7f9a86b35d4e81f20c7ab95630d8e4f1a2b7c6d5e9f08a1b2c3d4e5f6',
          },
        ],
        next_cursor: 2,
        has_more: false,
        latest_sequence: 2,
        cursor_floor: 1,
        previous_sha256: '9d0c7a41f1b2e6d8350c4f9a7be21d6680a3f5c9127e4bd05f68a1c3e7924b0d',
      },
    },
  },
  whoami: {
    summary: 'Rights of this request’s credential',
    description: 'Null means no limit. The two credentials in `admin.json` have every scope and no id.',
    example: {answer: {id: 'k3m9x2abcdef', name: 'reports', ...GRANT}},
  },
  'keys.create': {
    summary: 'Create a key',
    description: 'Only this answer contains the secret. A key can create only keys with at most its own rights.',
    errors: ['op.conflict', 'session.storage_full', 'op.storage_damaged'],
    example: {body: BODY, answer: {key: MADE, secret: SECRET}},
  },
  'keys.list': {
    summary: 'List keys',
    description: 'A key sees only keys with at most its own rights.',
    errors: ['op.storage_damaged'],
    example: {answer: {keys: [MADE], damaged: []}},
  },
  'keys.get': {
    summary: 'One key',
    errors: ['op.not_found', 'op.storage_damaged'],
    example: {from: FROM_CREATE, answer: {key: MADE}},
  },
  'keys.rotate': {
    summary: 'Give a key a new secret',
    description: 'The previous secret stays valid for the overlap. An older one is revoked now.',
    errors: ['op.not_found', 'session.storage_full', 'op.storage_damaged'],
    example: {from: FROM_CREATE, body: {overlap_seconds: 3_600}, answer: {key: MADE, secret: SECRET}},
  },
  'keys.revoke': {
    summary: 'Revoke a key',
    description:
      'Takes effect at every router before the answer. Sockets opened with the key are closed, and its ' +
      'endless answers are cut off.',
    errors: ['op.not_found', 'session.storage_full', 'op.storage_damaged'],
    example: {from: FROM_CREATE},
  },
};
