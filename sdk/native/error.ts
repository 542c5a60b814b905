/** The error that calls reject with, either from the service or with the reason why there was no response. */
import {ERROR_STATUS} from '../../shared/errors.ts';

/** Errors that another attempt would meet again, whatever their status. */
const LASTING = /^(op\.(quarantined|storage_damaged)|client\.no_key)$/;

export class SvcClientError extends Error {
  override readonly name = 'SvcClientError';
  /**
   * The service's code, for example `op.not_found`, or one of the client's own: `client.unreachable`, `client.timeout`,
   * `client.bad_answer`, `client.no_key`.
   */
  readonly code: string;
  /** The HTTP status; 0 when there was no response. */
  readonly status: number;
  /** Additional data; its shape depends on the code. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** `X-Request-Id`, which identifies the request in the service's log. Null: there was no response, or it had none. */
  readonly requestId: string | null;
  /** Milliseconds after which to try again, as requested by the service. Null: not stated. */
  readonly retryAfterMs: number | null;

  constructor(
    code: string,
    message: string,
    status = 0,
    detail: Readonly<Record<string, unknown>> = {},
    requestId: string | null = null,
    retryAfterMs: number | null = null,
    cause?: unknown,
  ) {
    super(`${code}: ${message}`, cause === undefined ? undefined : {cause});
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }

  /**
   * Another attempt might succeed: there was no response, or the service or a proxy in front of it is busy or
   * restarting.
   */
  get isTransient(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status) && !LASTING.test(this.code);
  }
}

/** @param body the response body, which might come from a proxy */
export function errorOf(response: Response, body: string): SvcClientError {
  const {status, headers} = response;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const {code, message, detail} = envelopeOf(body) ?? {
    code: 'client.bad_answer',
    message: `HTTP ${status} without an error of the service: ${body.slice(0, 200)}`,
  };
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : null;
  return new SvcClientError(code, message, status, detail, headers.get('x-request-id'), retryAfterMs);
}

/** An error in the service's wire format. */
export type ErrorSaid = {code: string; message: string; detail?: Readonly<Record<string, unknown>>};

/** Creates an error from one without a status: it gets the status that its code has over HTTP. */
export function errorSaid({code, message, detail}: ErrorSaid): SvcClientError {
  const statuses: Readonly<Record<string, number | null | undefined>> = ERROR_STATUS;
  const seconds = detail?.retry_after_seconds;
  const retryAfterMs = typeof seconds === 'number' ? seconds * 1000 : null;
  return new SvcClientError(code, message, statuses[code] ?? 400, detail, null, retryAfterMs);
}

function envelopeOf(body: string): ErrorSaid | null {
  try {
    const {error} = JSON.parse(body) as {error?: ErrorSaid};
    return typeof error?.code === 'string' ? error : null;
  } catch {
    return null;
  }
}
