/** Live queries of a tenant's documents, over the one socket of `svc/client` with the session's cookie as credential. */

import {createClient, type NativeClient} from '../../../sdk/native/index.ts';
import {KEY_PREFIX} from '../../../shared/key-prefix.ts';

/** The client sends a key as a header and a subprotocol; here the cookie takes its place. */
const NO_KEY = `${KEY_PREFIX}session`;
const clients = new Map<string, NativeClient>();

class CookieSocket extends WebSocket {
  constructor(url: string, [protocol]: string[]) {
    super(url, protocol);
  }
}

export function liveClient(tenant: string): NativeClient {
  const known = clients.get(tenant);
  if (known !== undefined) return known;
  const client = createClient({
    url: `${location.origin}/_dashboard`,
    tenant,
    key: NO_KEY,
    webSocket: CookieSocket,
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      headers.delete('authorization');
      headers.set('x-svc-dashboard', '1');
      return fetch(url, {...init, headers});
    },
  });
  clients.set(tenant, client);
  return client;
}
