/**
 * Loads uWebSockets.js. The library reads its limit for request headers from the environment while it loads (default 4
 * KiB), so nothing else may import it at run time. It is required instead of imported because it is a native addon
 * outside the bundle.
 */
import {createRequire} from 'node:module';
import {HEADERS_BYTES_MAX} from '../limits.ts';

process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEADERS_BYTES_MAX);

type Uws = typeof import('uWebSockets.js') & {
  /** Missing from the package's types. Without it, a second server can listen on the same port. */
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
};

export const uws = createRequire(import.meta.url)('uWebSockets.js') as Uws;
