/** The cookie of a session: its name, its attributes, and how it is found among others. */

/** A session that a page on another port set is not ours, so the name contains the port. */
const NAME = 'svc_dashboard';
/** Browsers take a cookie with this prefix from its own host only, over https: no other host can plant one. */
const HOST_ONLY = '__Host-';

/** @param origin of the dashboard's pages */
export function cookieName(origin: string): string {
  if (origin.startsWith('https:')) return `${HOST_ONLY}${NAME}`;
  const {port} = new URL(origin);
  return `${NAME}_${port === '' ? '80' : port}`;
}

/** @param seconds until the browser drops it; 0: now */
export function setCookie(origin: string, value: string, seconds: number): string {
  // A cookie for its own host only must be for all paths. The host has no others than the dashboard's.
  const place = origin.startsWith('https:') ? 'Path=/; Secure' : 'Path=/_dashboard';
  return `${cookieName(origin)}=${value}; ${place}; HttpOnly; SameSite=Strict; Max-Age=${Math.max(0, Math.floor(seconds))}`;
}

/**
 * The value of the cookie; empty: there is none. Two of one name count as none, because one of them was planted: a page
 * on another port of the same host can set cookies for the dashboard's path.
 */
export function cookieIn(header: string, name: string): string {
  const values = header.split(';').flatMap(part => {
    const at = part.indexOf('=');
    return at !== -1 && part.slice(0, at).trim() === name ? [part.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? values[0]! : '';
}
