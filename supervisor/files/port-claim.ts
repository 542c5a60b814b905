/**
 * Claims the port that several routers share. Each router listens with SO_REUSEPORT, so the system would let another
 * server of the same user join them unnoticed and answer some of their requests. Two checks prevent that, once, before
 * routers start:
 *
 *   1. a listener without SO_REUSEPORT fails if any process listens on the address, in any way
 *   2. a name that one server holds for its lifetime: if two start at the same moment, or while the routers of the
 *      other one are being replaced, only one gets it
 *
 * The name is that of an abstract socket, which belongs to the network namespace, as ports do, and disappears with its
 * process. It names the port on any address, because a server on all addresses and one on a single address share
 * connections, too.
 */
import {createServer, type ListenOptions, type Server} from 'node:net';
import {portTaken} from '../../shared/ipc/control.ts';
import {FREE_PORT_ATTEMPTS} from '../../shared/limits.ts';
import {StartError} from './start-error.ts';

export class PortClaim {
  readonly port: number;
  readonly #name: Server;
  /** Holds a port that we chose until routers listen on it; null: the port number was configured. */
  #held: Server | null;

  private constructor(port: number, name: Server, held: Server | null) {
    this.port = port;
    this.#name = name;
    this.#held = held;
  }

  /** @param port 0: any free one, the same for all routers. @throws StartError */
  static async take(host: string, port: number): Promise<PortClaim> {
    if (process.platform !== 'linux') {
      throw new StartError('several routers share their port as only Linux does it: leave out --routers');
    }
    const claim = port === 0 ? await PortClaim.#takeAny(host) : await PortClaim.#takeThis(host, port);
    if (claim === null) throw new StartError(portTaken(host, port));
    return claim;
  }

  static async #takeThis(host: string, port: number): Promise<PortClaim | null> {
    const probe = await listening({host, port, exclusive: true});
    if (probe === null) return null;
    const name = await listening({path: nameOf(port)});
    await closed(probe);
    return name === null ? null : new PortClaim(port, name, null);
  }

  static async #takeAny(host: string): Promise<PortClaim | null> {
    for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS; attempt++) {
      const held = await listening({host, port: 0, exclusive: true, reusePort: true});
      const address = held?.address() ?? null;
      if (held === null || address === null || typeof address === 'string') return null; // no such address here
      const name = await listening({path: nameOf(address.port)});
      if (name !== null) return new PortClaim(address.port, name, held);
      await closed(held);
    }
    return null;
  }

  /** All routers listen: they hold the port from now on. */
  async routersListen(): Promise<void> {
    if (this.#held !== null) await closed(this.#held);
    this.#held = null;
  }

  release(): void {
    this.#name.close();
  }
}

/**
 * Checks the port before anything is created for a server that could not listen. Routers check again later.
 * @throws StartError
 */
export async function requireFree(host: string, port: number): Promise<void> {
  const probe = await listening({host, port, exclusive: true});
  if (probe === null) throw new StartError(portTaken(host, port));
  await closed(probe);
}

function nameOf(port: number): string {
  return `\0svc-port-${port}`;
}

/** Null: the port is not available. Connections are closed at once. */
function listening(options: ListenOptions): Promise<Server | null> {
  return new Promise(resolve => {
    const server = createServer(socket => socket.destroy());
    server.once('error', () => resolve(null));
    server.listen(options, () => resolve(server));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve());
  });
}
