/** The way between pages and a service, as a relay that can be cut: connections break, and new ones come to nothing. */
import {once} from 'node:events';
import {type AddressInfo, connect, createServer, type Server, type Socket} from 'node:net';

export class Network {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(port: number) {
    this.#server = createServer(socket => this.#relay(socket, port));
  }

  /** To a port of this machine. */
  static async to(port: number): Promise<Network> {
    const network = new Network(port);
    network.#server.listen(0, '127.0.0.1');
    await once(network.#server, 'listening');
    return network;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #relay(near: Socket, port: number): void {
    if (this.#isCut) return void near.destroy();
    const far = connect({host: '127.0.0.1', port});
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
