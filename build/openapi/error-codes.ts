/** Determines the errors of an operation from its row and its text, and describes each. */
import {ERROR_STATUS, type ErrorCode} from '../../shared/errors.ts';
import {OPERATIONS, type Operation, type RouterOperation} from '../../shared/operations.ts';
import {OPERATION_TEXTS} from './operation-texts.ts';
import type {DescribedRoute} from './routes.ts';
import type {Schema} from './schemas.ts';

/** Codes that an HTTP answer can have. */
type HttpErrorCode = {[C in ErrorCode]: (typeof ERROR_STATUS)[C] extends null ? never : C}[ErrorCode];

const MEANINGS: Record<HttpErrorCode, string> = {
  'auth.unauthorized': 'no valid credential',
  'auth.forbidden': 'the key lacks a right; `detail` names the scope, tenant or table',
  'auth.origin_forbidden': 'an `Origin` or `Host` that is not allowed',
  'op.invalid_input': 'malformed JSON, a wrong type, a name or value that is not allowed, or an unknown member',
  'op.schema_violation': 'a document violates the schema of its table, or existing documents violate a schema',
  'op.not_found': 'the resource in the path does not exist',
  'op.method_not_allowed': 'the path does not take this method',
  'op.conflict': 'the request conflicts with the current state, or its `Idempotency-Key` was used with another request',
  'op.unique_violation':
    'another document has the same values in a unique index; `detail` has `table`, `index` and its `id`',
  'op.precondition_failed': '`If-Match` or `If-None-Match` does not hold; `detail.version` is the current version',
  'op.too_large': 'a body or a result beyond its limit',
  'op.unsupported_media_type': 'a body with a `Content-Encoding`',
  'op.rate_limited':
    'a rate limit is used up, the tenant has reached its quota, or this address sent too many wrong credentials',
  'op.failed': 'a fault of the service; its log has the cause',
  'op.storage_damaged': 'stored data is missing or damaged and is not served',
  'op.quarantined': 'this call has crashed the tenant’s process; it is refused for a while',
  'sandbox.execution_failed': 'the code has no value; `detail` says why',
  'journal.cursor_expired': 'the journal cannot be continued from this cursor',
  'session.tenant_not_found': 'no such tenant',
  'session.tenant_exists': 'the tenant exists',
  'session.tenant_paused': 'an operator paused the tenant; nothing was done',
  'session.tenant_read_only': 'an operator paused the tenant so that it answers reads only; nothing was changed',
  'session.worker_unavailable': 'the tenant cannot be reached; nothing was done',
  'session.outcome_unknown': 'the tenant’s process ended during the request: the write may or may not have happened',
  'session.overloaded': 'too many requests are waiting; nothing was done',
  'session.auth_unavailable': 'the keys of the token’s auth provider could not be fetched; nothing was done',
  'session.storage_full': 'the disk is full, or the tenant’s storage quota is used up; nothing was written',
  'session.storage_read_only': 'the file system of the data directory is read-only; reads still work',
  'protocol.no_overlap': 'no subprotocol of the server is offered; `detail` lists `serverSupports` and `clientOffered`',
};

/** In the order of the table of codes. */
export function errorCodesOf(name: Operation | RouterOperation, route: DescribedRoute): HttpErrorCode[] {
  const codes = new Set<ErrorCode>(['op.invalid_input', 'op.failed', 'session.worker_unavailable']);
  if (route.access !== 'deployment') codes.add('auth.origin_forbidden');
  if (route.access !== 'open') {
    for (const code of ['auth.unauthorized', 'auth.forbidden', 'op.rate_limited'] as const) codes.add(code);
  }
  if (name in OPERATIONS) for (const code of ofWorker(name as Operation, route)) codes.add(code);
  if (route.takesBody) {
    codes.add('op.too_large');
    codes.add('session.overloaded');
    if (name !== 'functions.http') codes.add('op.unsupported_media_type');
  }
  const {errors = [], takesKey = false} = OPERATION_TEXTS[name];
  for (const code of errors) codes.add(code);
  if (takesKey) codes.add('op.conflict');
  return (Object.keys(MEANINGS) as HttpErrorCode[]).filter(code => codes.has(code));
}

function ofWorker(name: Operation, {traits}: DescribedRoute): ErrorCode[] {
  const codes: ErrorCode[] = ['session.tenant_not_found', 'session.overloaded', 'op.storage_damaged'];
  const {kind, runsUserCode = false, takesConditions = false} = traits!;
  if (kind === 'write' || runsUserCode) codes.push('session.outcome_unknown');
  if (kind === 'write') codes.push('session.storage_full', 'session.storage_read_only', 'session.tenant_read_only');
  if (kind === 'write' && takesConditions) codes.push('op.precondition_failed');
  if (runsUserCode) codes.push('op.quarantined');
  if (name === 'functions.preflight') return ['session.tenant_not_found', 'session.overloaded', 'op.storage_damaged'];
  return codes;
}

/** Headers of every tenant answer if the operator or a key has set a limit. */
export const RATE_LIMIT: Schema = {
  'RateLimit-Policy': {$ref: '#/components/headers/RateLimit-Policy'},
  RateLimit: {$ref: '#/components/headers/RateLimit'},
};

/** Error responses; operations with the same ones share them. */
export class ErrorResponses {
  readonly components: Record<string, Schema> = {};
  readonly #envelope: Schema;

  /** @param envelope the schema of every error */
  constructor(envelope: Schema) {
    this.#envelope = envelope;
  }

  /** Responses by status. */
  of(codes: readonly HttpErrorCode[]): Record<string, Schema> {
    const byStatus = new Map<number, HttpErrorCode[]>();
    for (const code of codes) {
      const status = ERROR_STATUS[code];
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
    return Object.fromEntries([...byStatus].map(([status, some]) => [status, this.#reference(status, some)]));
  }

  #reference(status: number, codes: readonly HttpErrorCode[]): Schema {
    const name = `${status}-${codes.join('-')}`;
    this.components[name] ??= {
      description: codes.map(code => `\`${code}\`: ${MEANINGS[code]}`).join('\n\n'),
      headers: {'X-Request-Id': {$ref: '#/components/headers/X-Request-Id'}, ...RATE_LIMIT, ...headersOf(status)},
      content: {
        'application/json': {
          schema: {allOf: [this.#envelope, {properties: {error: {properties: {code: {enum: codes}}}}}]},
          examples: Object.fromEntries(
            codes.map(code => [code, {value: {error: {code, message: MEANINGS[code].replaceAll('`', '')}}}]),
          ),
        },
      },
    };
    return {$ref: `#/components/responses/${name}`};
  }
}

function headersOf(status: number): Schema {
  if (status === 401) return {'WWW-Authenticate': {$ref: '#/components/headers/WWW-Authenticate'}};
  if (status === 429 || status === 503) return {'Retry-After': {$ref: '#/components/headers/Retry-After'}};
  return {};
}
