/** A link between two programs that a test can cut, stall in one direction or both, delay, and heal. */
import {once} from 'node:events';
import {type AddressInfo, connect, createServer, type Server, type Socket} from 'node:net';

/** `forth`: from the one that connects to the one that listens. */
export type Direction = 'forth' | 'back';
const BOTH: readonly Direction[] = ['forth', 'back'];

export class TcpLink {
  readonly port: number;
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #pairs = new Set<{forth: Socket; back: Socket}>();
  readonly #stalled = new Set<Direction>();
  #isCut = false;
  #delayMs = 0;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', socket => this.#join(socket));
  }

  static async to(targetPort: number): Promise<TcpLink> {
    const server = createServer({allowHalfOpen: false}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpLink(server, targetPort);
  }

  /** Connections break, and new ones are refused. */
  cut(): void {
    this.#isCut = true;
    for (const {forth, back} of this.#pairs) {
      forth.destroy();
      back.destroy();
    }
  }

  /** Nothing passes, and connections stay: what is sent arrives once the link is healed. */
  stall(directions: readonly Direction[] = BOTH): void {
    for (const direction of directions) {
      this.#stalled.add(direction);
      for (const pair of this.#pairs) pair[direction].pause();
    }
  }

  /** In each direction. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  heal(): void {
    this.#isCut = false;
    this.#delayMs = 0;
    for (const direction of this.#stalled) for (const pair of this.#pairs) pair[direction].resume();
    this.#stalled.clear();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(forth: Socket): void {
    if (this.#isCut) return void forth.destroy();
    const back = connect(this.#targetPort, '127.0.0.1');
    const pair = {forth, back};
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      forth.destroy();
      back.destroy();
    };
    for (const socket of [forth, back]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', end);
    }
    this.#pass(forth, back);
    this.#pass(back, forth);
    for (const direction of this.#stalled) pair[direction].pause();
  }

  #pass(from: Socket, to: Socket): void {
    from.on('data', bytes => {
      const write = () => {
        if (to.writable && !to.write(bytes)) {
          from.pause();
          to.once('drain', () => {
            if (!this.#isStalled(from)) from.resume();
          });
        }
      };
      // Timers of one length fire in order.
      if (this.#delayMs === 0) write();
      else setTimeout(write, this.#delayMs);
    });
  }

  #isStalled(from: Socket): boolean {
    return [...this.#stalled].some(direction => [...this.#pairs].some(pair => pair[direction] === from));
  }
}
