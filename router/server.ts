/** A listening HTTP server. */

import type {TemplatedApp, us_listen_socket} from 'uWebSockets.js';
import {assert} from '../shared/assert.ts';
import {FREE_PORT_ATTEMPTS} from '../shared/limits.ts';
import {freePort} from './http/free-port.ts';
import {uws} from './http/uws.ts';

/**
 * `shared`: other routers of this service listen on the same port, and the kernel distributes connections among them.
 */
export type PortSharing = 'exclusive' | 'shared';

export class Server {
  readonly port: number;
  readonly #app: TemplatedApp;
  #sockets: us_listen_socket[];

  private constructor(app: TemplatedApp, socket: us_listen_socket) {
    this.#app = app;
    this.#sockets = [socket];
    this.port = uws.us_socket_local_port(socket);
  }

  /**
   * @param port 0: any free one
   * @param mount adds the handlers of requests and sockets once the port is known
   * @returns null if the port is not available
   */
  static async listen(
    host: string,
    port: number,
    sharing: PortSharing,
    mount: (port: number, app: TemplatedApp) => void,
  ): Promise<Server | null> {
    if (port !== 0) return await Server.#listenOn(host, port, sharing, mount);
    assert(sharing === 'exclusive', 'a shared port is given');
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
    mount: (port: number, app: TemplatedApp) => void,
  ): Promise<Server | null> {
    return new Promise(resolve => {
      const app = uws.App();
      listenOn(app, host, port, sharing, socket => {
        if (socket === false) {
          resolve(null);
          return;
        }
        const server = new Server(app, socket);
        mount(server.port, app);
        resolve(server);
      });
    });
  }

  /** Serves the same on another port. @returns it; null: it is not available */
  async alsoListen(host: string, port: number): Promise<number | null> {
    const wanted = port === 0 ? await freePort(host) : port;
    if (wanted === null) return null;
    return await new Promise(resolve => {
      listenOn(this.#app, host, wanted, 'exclusive', socket => {
        if (socket !== false) this.#sockets.push(socket);
        resolve(socket === false ? null : wanted);
      });
    });
  }

  /** Accepts no more connections; existing ones stay. */
  stopAccepting(): void {
    for (const socket of this.#sockets) uws.us_listen_socket_close(socket);
    this.#sockets = [];
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
