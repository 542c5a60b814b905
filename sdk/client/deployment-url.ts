/** Checks the address of a deployment as passed to clients, `https://host/svc/{tenant_id}`. */

/** @returns the address without a trailing slash. @throws Error that says what is wrong with it */
export function deploymentUrl(url: unknown): string {
  if (url === undefined || url === null) {
    throw new Error('Client created with undefined deployment address. Is its variable set where this is built?');
  }
  if (typeof url !== 'string') throw new Error(`Invalid deployment address: it must be a string, found ${typeof url}.`);
  if (!/^https?:\/\//.test(url)) {
    throw new Error(`Invalid deployment address: Must start with "https://" or "http://". Found "${url}".`);
  }
  try {
    new URL(url);
  } catch {
    throw new Error(`Invalid deployment address: "${url}" is not a valid URL.`);
  }
  return url.replace(/\/+$/, '');
}
