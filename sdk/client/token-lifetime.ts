/** Reads the claims, the user and the lifetime of a token, without verifying it. */

/** Null: not a JWT. */
export function decodedToken(token: string): Record<string, unknown> | null {
  try {
    const [, payload = ''] = token.split('.');
    const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, char => char.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : null;
  } catch {
    return null; // Not base64, or not JSON; the caller decides what that means.
  }
}

/** A key that is the same for all tokens of one user. */
export function userOf(token: string | null | undefined): string {
  const {iss, sub} = decodedToken(token ?? '') ?? {};
  return sub === undefined ? (token ?? '') : `${String(iss)}|${String(sub)}`;
}

/** In milliseconds, from the token's own claims, because the clock of this machine might be wrong. Null: not stated. */
export function tokenLifetimeMs(token: string): number | null {
  const {iat, exp} = decodedToken(token) ?? {};
  return typeof iat === 'number' && typeof exp === 'number' ? (exp - iat) * 1000 : null;
}
