/**
 * Narrows cookies of HTTP actions to their tenant. All tenants are paths of one web origin, so a cookie for `/` or for
 * a whole domain would reach other tenants' actions and anything else on the host. Its path is narrowed to the tenant's
 * own, and its domain is removed.
 */

/** @param scope the tenant's path, without a slash at its end, @param cookie the value of a Set-Cookie header */
export function scopedCookie(cookie: string, scope: string): string {
  const [pair = '', ...attributes] = cookie.split(';');
  const kept = attributes.map(attribute => scopedAttribute(attribute, scope)).filter(attribute => attribute !== null);
  return [pair, ...kept].join(';');
}

function scopedAttribute(attribute: string, scope: string): string | null {
  const [name = '', value = ''] = attribute.split('=', 2).map(part => part.trim());
  switch (name.toLowerCase()) {
    case 'domain':
      return null;
    case 'path':
      // Without a leading slash browsers use the path of the request, which is inside the tenant's.
      if (!value.startsWith('/') || value === scope || value.startsWith(`${scope}/`)) return attribute;
      return ` Path=${scope}`;
    default:
      return attribute;
  }
}
