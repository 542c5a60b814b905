/**
 * CORS of the function endpoints (`/svc/{tenant}/query` and the like, but not HTTP actions, whose apps set their own
 * headers). Browser credentials are not involved, only bearer tokens that a page must send itself. Any origin is
 * therefore allowed unless the tenant lists its own. The worker has that list and makes the headers of its answers. The
 * router makes the headers of errors that it answers itself as if there were no list, so that a page can read why it
 * was refused.
 */
import type {HeaderList} from './operations.ts';

const EXPOSED = ['Access-Control-Expose-Headers', 'X-Request-Id'] as const;
const PREFLIGHT: HeaderList = [
  ['Access-Control-Allow-Methods', 'POST, DELETE, OPTIONS'],
  ['Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Request-Id, Svc-Client'],
  // Two hours is the maximum that browsers accept.
  ['Access-Control-Max-Age', '7200'],
];
const ANY_ORIGIN: HeaderList = [['Access-Control-Allow-Origin', '*'], EXPOSED];
const VARIES: HeaderList = [['Vary', 'Origin']];

/**
 * The CORS headers of an answer.
 * @param origin the request's header; undefined: it has none
 * @param allowed the tenant's list; null: any origin
 */
export function corsHeaders(origin: string | undefined, allowed: readonly string[] | null): HeaderList {
  if (allowed === null) return ANY_ORIGIN;
  if (origin === undefined || !allowed.includes(origin)) return VARIES;
  return [['Access-Control-Allow-Origin', origin], EXPOSED, ...VARIES];
}

/** The headers of the answer to a preflight, which is 204 without a body. */
export function preflightHeaders(origin: string | undefined, allowed: readonly string[] | null): HeaderList {
  const headers = corsHeaders(origin, allowed);
  return headers === VARIES ? VARIES : [...headers, ...PREFLIGHT];
}
