/**
 * The service's error class, its table of codes and its envelope. Code throws where a rule is broken; only edges catch
 * (router exchange, worker dispatch, command line), and turn the error into `{"error": {code, message, detail?}}`.
 * Between processes an error travels as that envelope, never as an `Error` object.
 */

/**
 * Every code that can reach a client, once. Value: the HTTP status; null if only a WebSocket frame carries the code.
 */
export const ERROR_STATUS = {
  'auth.unauthorized': 401,
  'auth.origin_forbidden': 403,
  'auth.forbidden': 403,
  'op.invalid_input': 400,
  'op.schema_violation': 400,
  'op.not_found': 404,
  'op.method_not_allowed': 405,
  'op.conflict': 409,
  'op.unique_violation': 409,
  'op.precondition_failed': 412,
  'op.too_large': 413,
  'op.unsupported_media_type': 415,
  'op.rate_limited': 429,
  'op.failed': 500,
  'op.storage_damaged': 503,
  'op.quarantined': 503,
  'sandbox.execution_failed': 422,
  'journal.cursor_expired': 410,
  'session.tenant_not_found': 404,
  'session.tenant_exists': 409,
  'session.tenant_paused': 503,
  'session.tenant_read_only': 409,
  'session.worker_unavailable': 503,
  'session.outcome_unknown': 503,
  'session.overloaded': 503,
  'session.auth_unavailable': 503,
  'session.storage_full': 507,
  'session.storage_read_only': 503,
  'protocol.no_overlap': 400,
  'protocol.hello_timeout': null,
  'protocol.invalid_json': null,
  'protocol.unsupported_message_type': null,
  'protocol.unsupported_version': null,
  'protocol.unsupported_binary': null,
  'protocol.out_of_step': null,
  'session.subscription_error': null,
  'session.unsubscribe_failed': null,
} as const satisfies Record<string, number | null>;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** What a client sees of an error, in every HTTP body and every frame. */
export type ErrorObject = {
  code: ErrorCode;
  /** What was wrong with this input and what would be right; for people. */
  message: string;
  /** Machine-readable details; the code determines their shape. */
  detail?: Record<string, unknown>;
};
export type ErrorEnvelope = {error: ErrorObject};

/** Checks outside input: what another process sends as an error, before it is passed on to a client. */
export function isErrorObject(value: unknown): value is ErrorObject {
  if (typeof value !== 'object' || value === null) return false;
  const {code, message, detail} = value as Record<string, unknown>;
  const isDetail = detail === undefined || (typeof detail === 'object' && detail !== null);
  return isErrorCode(code) && typeof message === 'string' && isDetail;
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_STATUS, value);
}

/** Maximum `Retry-After`, in seconds. */
export const RETRY_AFTER_S_MAX = 86_400;

/** A rule of the contract was broken, or the service cannot serve right now. Match `code`, not the message. */
export class ServiceError extends Error {
  override name = 'ServiceError';
  readonly code: ErrorCode;
  readonly detail: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, detail?: Record<string, unknown>, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.detail = detail;
  }

  get status(): number {
    return ERROR_STATUS[this.code] ?? 400;
  }

  /** Seconds for `Retry-After`; 0: none. The detail can be outside input. */
  get retryAfterS(): number {
    if (this.status !== 503 && this.status !== 429) return 0;
    const seconds = this.detail?.retry_after_seconds;
    if (typeof seconds === 'number' && seconds >= 1) return Math.min(Math.ceil(seconds), RETRY_AFTER_S_MAX);
    return this.status === 503 ? 1 : 0;
  }

  /** The request was valid; the service could not carry it out. */
  get isOurs(): boolean {
    return this.status >= 500;
  }
}

type Detail = Record<string, unknown>;

/** Of a tenant that an operator paused altogether. */
export const PAUSED: ErrorObject = {
  code: 'session.tenant_paused',
  message: 'the tenant is paused; it answers again when an operator resumes it',
};

/** An operator paused the tenant so that it answers reads only. */
export function readOnlyTenant(): ServiceError {
  return new ServiceError(
    'session.tenant_read_only',
    'the tenant is paused and answers reads only: nothing was changed; send it again after an operator has resumed it',
  );
}

/** The errors that most broken rules end in. The input was wrong in itself. */
export function invalid(message: string, detail?: Detail): ServiceError {
  return new ServiceError('op.invalid_input', message, detail);
}

export function notFound(message: string, detail?: Detail): ServiceError {
  return new ServiceError('op.not_found', message, detail);
}

/** The request does not fit the state of what it names. */
export function conflict(message: string, detail?: Detail): ServiceError {
  return new ServiceError('op.conflict', message, detail);
}

export function tooLarge(message: string, detail?: Detail): ServiceError {
  return new ServiceError('op.too_large', message, detail);
}

export function rateLimited(message: string, detail?: Detail): ServiceError {
  return new ServiceError('op.rate_limited', message, detail);
}

export function overloaded(message: string, detail?: Detail): ServiceError {
  return new ServiceError('session.overloaded', message, detail);
}

/** The tenant's process cannot serve now. */
export function unavailable(message: string, detail?: Detail): ServiceError {
  return new ServiceError('session.worker_unavailable', message, detail);
}

export function tenantClosing(): ServiceError {
  return unavailable('the tenant is being closed; try again');
}

export function errorEnvelope(error: ServiceError): ErrorEnvelope {
  return {
    error: {
      code: error.code,
      message: error.message,
      ...(error.detail === undefined ? {} : {detail: error.detail}),
    },
  };
}

/**
 * The envelope of anything caught at an edge. Anything but a ServiceError is a bug, and the client learns only that.
 */
export function asServiceError(caught: unknown): ServiceError {
  if (caught instanceof ServiceError) return caught;
  return new ServiceError('op.failed', 'the service could not complete the request; see its log', undefined, {
    cause: caught,
  });
}
