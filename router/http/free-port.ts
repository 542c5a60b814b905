/**
 * A port for `--port 0`, chosen by us and then listened on like a given one. If uWebSockets.js lets the system choose, it
 * leaves out SO_REUSEADDR; a router that died could then not have its port back while old connections wait for their end
 * (a minute on Linux).
 */
import {createServer} from 'node:net';

/** Free a moment ago: another process may be faster, so the caller tries again. */
export function freePort(host: string): Promise<number | null> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(null)); // no such address here: there is no port either
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() => resolve(address === null || typeof address === 'string' ? null : address.port));
    });
  });
}
