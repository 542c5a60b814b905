/** What a client reads of a token: its claims, unverified, whose it is, and for how long it is good. */

/** Null: it is no JWT. */
export function decodedToken(token: string): Record<string, unknown> | null {
  try {
    const [, payload = ''] = token.split('.');
    const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, char => char.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : null;
  } catch {
    return null; // No base64, or no JSON in it: what that means is the caller's to say.
  }
}

/** The same for all tokens of one user. */
export function userOf(token: string | null | undefined): string {
  const {iss, sub} = decodedToken(token ?? '') ?? {};
  return sub === undefined ? (token ?? '') : `${String(iss)}|${String(sub)}`;
}

/** By the server's clock alone: this machine's may be wrong. Null: the token does not say. */
export function tokenLifetimeMs(token: string): number | null {
  const {iat, exp} = decodedToken(token) ?? {};
  return typeof iat === 'number' && typeof exp === 'number' ? (exp - iat) * 1000 : null;
}
