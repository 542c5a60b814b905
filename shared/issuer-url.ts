/** The issuer as the base of a URL, without a trailing `/`. */
export function issuerUrl(issuer: string): string {
  const whole = /^https?:\/\//.test(issuer) ? issuer : `https://${issuer}`;
  return whole.endsWith('/') ? whole.slice(0, -1) : whole;
}
