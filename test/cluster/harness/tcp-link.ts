/** A link between two programs that a test can cut, stall in one direction or both, delay, and heal. */
import {once} from 'node:events';
import {type AddressInfo, connect, createServer, type Server, type Socket} from 'node:net';

/** `forth`: from the one that connects to the one that listens. */
export type Direction = 'forth' | 'back';
const BOTH: readonly Direction[] = ['forth', 'back'];
/** Chooses connections by the port of the side that connects. */
export type Chosen = (port: number) => boolean;
const ALL: Chosen = () => true;

type Pair = {readonly forth: Socket; readonly back: Socket; readonly port: number; isChosen: boolean};

export class TcpLink {
  readonly port: number;
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #pairs = new Set<Pair>();
  readonly #stalled = new Set<Direction>();
  #isCut = false;
  #delayMs = 0;
  /** Connections that are broken in one of these ways. */
  #chosen: Chosen = ALL;

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
  cut(chosen: Chosen = ALL): void {
    this.#isCut = true;
    for (const {forth, back} of this.#choose(chosen)) {
      forth.destroy();
      back.destroy();
    }
  }

  /** Nothing passes, and connections stay: what is sent arrives once the link is healed. */
  stall(directions: readonly Direction[] = BOTH, chosen: Chosen = ALL): void {
    const pairs = this.#choose(chosen);
    for (const direction of directions) {
      this.#stalled.add(direction);
      for (const pair of pairs) pair[direction].pause();
    }
  }

  /** In each direction. */
  delay(ms: number, chosen: Chosen = ALL): void {
    this.#choose(chosen);
    this.#delayMs = ms;
  }

  heal(): void {
    this.#isCut = false;
    this.#delayMs = 0;
    for (const direction of this.#stalled) for (const pair of this.#pairs) pair[direction].resume();
    this.#stalled.clear();
    this.#chosen = ALL;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #choose(chosen: Chosen): Pair[] {
    this.#chosen = chosen;
    for (const pair of this.#pairs) pair.isChosen = chosen(pair.port);
    return [...this.#pairs].filter(({isChosen}) => isChosen);
  }

  #join(forth: Socket): void {
    const port = forth.remotePort ?? 0;
    const isChosen = this.#chosen(port);
    if (this.#isCut && isChosen) return void forth.destroy();
    const back = connect(this.#targetPort, '127.0.0.1');
    const pair = {forth, back, port, isChosen};
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
    this.#pass(pair, 'forth', back);
    this.#pass(pair, 'back', forth);
    if (isChosen) for (const direction of this.#stalled) pair[direction].pause();
  }

  #pass(pair: Pair, direction: Direction, to: Socket): void {
    const from = pair[direction];
    const write = (bytes: Buffer) => {
      if (!to.writable || to.write(bytes)) return;
      from.pause();
      to.once('drain', () => {
        if (!(pair.isChosen && this.#stalled.has(direction))) from.resume();
      });
    };
    /** What is sent later stays behind it, also if the link is healed meanwhile. */
    const delayed: {readonly bytes: Buffer; readonly dueMs: number}[] = [];
    const writeDue = () => {
      while (delayed.length > 0 && delayed[0]!.dueMs <= performance.now()) write(delayed.shift()!.bytes);
      if (delayed.length > 0) setTimeout(writeDue, delayed[0]!.dueMs - performance.now());
    };
    from.on('data', (bytes: Buffer) => {
      const ms = pair.isChosen ? this.#delayMs : 0;
      if (ms === 0 && delayed.length === 0) return write(bytes);
      delayed.push({bytes, dueMs: performance.now() + ms});
      if (delayed.length === 1) setTimeout(writeDue, ms);
    });
  }
}
