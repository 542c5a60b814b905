/**
 * Finds a port for `--port 0`, which is then used like a configured one. If uWebSockets.js let the system choose, it
 * would not set SO_REUSEADDR, and a restarted router could not get its port back while old connections linger (a minute
 * on Linux).
 */
import {createServer} from 'node:net';

/** @returns a port that was free a moment ago. Another process may take it first, so the caller tries again */
export function freePort(host: string): Promise<number | null> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(null)); // the address does not exist here, so there is no port either
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() => resolve(address === null || typeof address === 'string' ? null : address.port));
    });
  });
}
