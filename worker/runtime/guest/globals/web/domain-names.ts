/**
 * Replaces `tr46` in the realm's bundle. Most host names are plain ASCII and do not need its tables, whose evaluation
 * costs more than everything else that a `URL` needs. The bundle can load the original package as `tr46-with-tables`.
 */
type Options = {verifyDNSLength: boolean} & Record<string, boolean>;
type Package = {toASCII(domain: string, options: Options): string | null};

export function toASCII(domain: string, options: Options): string | null {
  const isPlain = !/[^\0-\x7f]/.test(domain) && !/(?:^|\.)xn--/i.test(domain);
  if (isPlain && !options.verifyDNSLength) return domain.toLowerCase();
  return (require('tr46-with-tables') as Package).toASCII(domain, options);
}
