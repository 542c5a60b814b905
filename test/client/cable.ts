/** A cable to a service that can be cut: bytes are passed on both ways until then. */

import type {AddressInfo} from 'node:net';
import {connect, createServer, type Server, type Socket} from 'node:net';

export class Cable {
  readonly #server: Server;
  readonly #ends = new Set<Socket>();
  /** Whether what the service says arrives. */
  #isDeaf = false;

  private constructor(port: () => number) {
    this.#server = createServer(near => {
      const far = connect(port(), '127.0.0.1');
      for (const end of [near, far]) {
        this.#ends.add(end);
        end.on('error', () => {}); // A cut cable.
        end.on('close', () => {
          this.#ends.delete(end);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far);
      far.on('data', bytes => {
        if (!this.#isDeaf) near.write(bytes);
      });
    });
  }

  /** @param port of the service, which may come back on another one */
  static async to(port: () => number): Promise<Cable> {
    const cable = new Cable(port);
    await new Promise<void>(resolve => cable.#server.listen(0, '127.0.0.1', resolve));
    return cable;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What the service says from now on is lost. */
  deafen(): void {
    this.#isDeaf = true;
  }

  cut(): void {
    for (const end of this.#ends) end.destroy();
    this.#isDeaf = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
