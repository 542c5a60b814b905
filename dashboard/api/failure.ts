/** What pages show of a request that failed: the error envelope of the server, or why there was none. */
import type {ErrorCode} from '../../shared/errors.ts';

export class ApiFailure extends Error {
  override name = 'ApiFailure';
  /** Of the envelope; `network`: no answer arrived; `read_only`: the tenant is locked in this browser. */
  readonly code: ErrorCode | 'network' | 'read_only' | 'unknown';
  /** 0: no answer arrived. */
  readonly status: number;
  readonly detail: Readonly<Record<string, unknown>>;

  constructor(code: ApiFailure['code'], message: string, status: number, detail: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.detail = detail;
  }
}

/** @returns the failure that an answer stands for */
export async function failureOf(response: Response): Promise<ApiFailure> {
  const text = await response.text();
  try {
    const {error} = JSON.parse(text) as {error: {code: ErrorCode; message: string; detail?: Record<string, unknown>}};
    return new ApiFailure(error.code, error.message, response.status, error.detail);
  } catch {
    // Not an envelope: something between the browser and svc answered.
    const message = `The server answered ${response.status} ${response.statusText}`.trim();
    return new ApiFailure('unknown', message, response.status);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
