/** Texts of keys and of who asks. */
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

export const KEY_TEXTS: OperationTexts<Named<'keys'> | 'whoami'> = {
  whoami: {
    tag: 'keys',
    summary: 'What the credential of this request may do',
    description: 'Null is no limit. The two credentials of `admin.json` have no id, and every scope.',
    example: {answer: {id: 'k3m9x2abcdef', name: 'reports', ...GRANT}},
  },
  'keys.create': {
    tag: 'keys',
    summary: 'Make a key',
    description:
      'Its secret is in this answer and in no other one. A key makes only those that may do no more than itself.',
    errors: ['op.conflict', 'session.storage_full', 'op.storage_damaged'],
    example: {body: BODY, answer: {key: MADE, secret: SECRET}},
  },
  'keys.list': {
    tag: 'keys',
    summary: 'List keys',
    description: 'A key sees those that may do no more than itself.',
    errors: ['op.storage_damaged'],
    example: {answer: {keys: [MADE], damaged: []}},
  },
  'keys.get': {
    tag: 'keys',
    summary: 'One key',
    errors: ['op.not_found', 'op.storage_damaged'],
    example: {from: FROM_CREATE, answer: {key: MADE}},
  },
  'keys.rotate': {
    tag: 'keys',
    summary: 'Give a key a new secret',
    description: 'The secret before it stays valid for as long as the overlap says; one that is older still ends now.',
    errors: ['op.not_found', 'session.storage_full', 'op.storage_damaged'],
    example: {from: FROM_CREATE, body: {overlap_seconds: 3_600}, answer: {key: MADE, secret: SECRET}},
  },
  'keys.revoke': {
    tag: 'keys',
    summary: 'End a key',
    description:
      'At every router before it is answered. Its sockets are closed, and its answers without an end break off.',
    errors: ['op.not_found', 'session.storage_full', 'op.storage_damaged'],
    example: {from: FROM_CREATE},
  },
};
