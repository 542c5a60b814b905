/** What a call rejects with: the service's own error, or why there was no answer. */
import {ERROR_STATUS} from '../../shared/errors.ts';

/** What another attempt meets again, whatever its status. */
const LASTING = /^(op\.(quarantined|storage_damaged)|client\.no_key)$/;

export class SvcClientError extends Error {
  override readonly name = 'SvcClientError';
  /** The service's code, `op.not_found` for one; `client.unreachable`, `client.timeout`, `client.bad_answer` and `client.no_key` are of the client. */
  readonly code: string;
  /** Of HTTP; 0: there was no answer. */
  readonly status: number;
  /** What more there is to say; its shape is the code's. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** `X-Request-Id`: what the service's log knows it by. Null: there was no answer. */
  readonly requestId: string | null;
  /** Milliseconds after which it may be tried again, as the service said; null: it did not. */
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

  /** It may be another time: nobody answered, or the service, or a proxy before it, is busy or restarts. */
  get isTransient(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status) && !LASTING.test(this.code);
  }
}

/** @param body what came, which a proxy may have said */
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

/** An error as the service writes it. */
export type ErrorSaid = {code: string; message: string; detail?: Readonly<Record<string, unknown>>};

/** One that came without a status: it gets the one that it has over HTTP. */
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
