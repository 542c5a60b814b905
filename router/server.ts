/** A listening HTTP server. It only mounts one handler for every method and path. */

import type {HttpRequest, HttpResponse, TemplatedApp, us_listen_socket} from 'uWebSockets.js';
import {assert} from '../shared/assert.ts';
import {FREE_PORT_ATTEMPTS} from '../shared/limits.ts';
import {freePort} from './http/free-port.ts';
import {uws} from './http/uws.ts';

export type Handler = (method: string, res: HttpResponse, req: HttpRequest) => void;

/**
 * `shared`: other routers of this service listen on the same port, and the kernel distributes connections among them.
 */
export type PortSharing = 'exclusive' | 'shared';

/** One app method per HTTP method, so that the method need not be read from every request. */
const MOUNTS = [
  ['get', 'GET'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
  ['del', 'DELETE'],
] as const;

export class Server {
  readonly port: number;
  #socket: us_listen_socket | null;

  private constructor(socket: us_listen_socket) {
    this.#socket = socket;
    this.port = uws.us_socket_local_port(socket);
  }

  /**
   * @param port 0: any free one
   * @param mount creates the handler once the port is known; it can add to the app, for example sockets
   * @returns null if the port is not available
   */
  static async listen(
    host: string,
    port: number,
    sharing: PortSharing,
    mount: (port: number, app: TemplatedApp) => Handler,
  ): Promise<Server | null> {
    if (port !== 0) return await Server.#listenOn(host, port, sharing, mount);
    assert(sharing === 'exclusive', 'who shares a port is told which');
    for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS; attempt++) {
      const free = await freePort(host);
      const server = free === null ? null : await Server.#listenOn(host, free, sharing, mount);
      if (server !== null) return server;
    }
    return null;
  }

  static #listenOn(
    host: string,
    port: number,
    sharing: PortSharing,
    mount: (port: number, app: TemplatedApp) => Handler,
  ): Promise<Server | null> {
    return new Promise(resolve => {
      const app = uws.App();
      let handler: Handler | null = null;
      const handle: Handler = (method, res, req) => handler?.(method, res, req);
      for (const [name, method] of MOUNTS) app[name]('/*', (res, req) => handle(method, res, req));
      app.any('/*', (res, req) => handle(req.getCaseSensitiveMethod(), res, req));
      listenOn(app, host, port, sharing, socket => {
        if (socket === false) {
          resolve(null);
          return;
        }
        const server = new Server(socket);
        handler = mount(server.port, app);
        resolve(server);
      });
    });
  }

  /** Accepts no more connections; existing ones stay. */
  stopAccepting(): void {
    if (this.#socket !== null) uws.us_listen_socket_close(this.#socket);
    this.#socket = null;
  }
}

type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => TemplatedApp;

/** The package's types lack the overload with both a host and options. */
function listenOn(
  app: TemplatedApp,
  host: string,
  port: number,
  sharing: PortSharing,
  done: (s: us_listen_socket | false) => void,
): void {
  const listen = app.listen as unknown as ListenWithOptions;
  // Without this option, uWebSockets.js sets SO_REUSEPORT.
  const options = sharing === 'exclusive' ? uws.LIBUS_LISTEN_EXCLUSIVE_PORT : 0;
  listen.call(app, host, port, options, done);
}
