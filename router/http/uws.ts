/**
 * Loads uWebSockets.js. It reads its limit on request headers from the environment once, while it loads, and 4 KiB unless
 * told otherwise, so nothing else may import it at run time. It is required rather than imported because it is a native
 * addon that the bundle leaves outside.
 */
import {createRequire} from 'node:module';
import {HEADERS_BYTES_MAX} from '../limits.ts';

process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEADERS_BYTES_MAX);

type Uws = typeof import('uWebSockets.js') & {
  /** Missing from the package's types. Without it a second server on the same port listens as well. */
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
};

export const uws = createRequire(import.meta.url)('uWebSockets.js') as Uws;
