/** Clients that hold live queries of one tenant on any host, and note each result. */
import {setTimeout as delay} from 'node:timers/promises';
import {type Frame, Socket} from '../../harness/socket.ts';
import type {Doc} from '../../harness/tenant.ts';
import type {SvcHost} from '../harness/svc-hosts.ts';
import {keyOf, type Notes, type Subscription} from './notes.ts';

const TABLES = ['lists', 'accounts'];
/** A connection lasts so long, unless a fault ends it. */
const CONNECTION_MS_MAX = 15_000;
const OPEN_MS = 10_000;
const PAUSE_MS = 300;

export class LiveClients {
  readonly #notes: Notes;
  readonly #hosts: readonly SvcHost[];
  readonly #random: () => number;
  readonly #running: Promise<unknown>;
  readonly #sockets = new Set<Socket>();
  #isOver = false;

  constructor(notes: Notes, hosts: readonly SvcHost[], random: () => number) {
    [this.#notes, this.#hosts, this.#random] = [notes, hosts, random];
    this.#running = Promise.all(TABLES.map(table => this.#hold(table)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.close();
    await this.#running;
  }

  async #hold(table: string): Promise<void> {
    while (!this.#isOver) {
      const host = this.#hosts[Math.floor(this.#random() * this.#hosts.length)]!;
      await this.#subscribe(host, table).catch(() => undefined);
      await delay(PAUSE_MS);
    }
  }

  /** Resolves when the connection is over. */
  async #subscribe({name, service}: SvcHost, table: string): Promise<void> {
    const beganMs = performance.now();
    const opening = Socket.established(service, this.#notes.tenant);
    const socket = await Promise.race([opening, delay(OPEN_MS, null)]);
    if (socket === null) return void opening.then(late => late.close()).catch(() => undefined);
    this.#sockets.add(socket);
    const subscription: Subscription = {on: name, least: 0, isOpen: true, results: []};
    this.#notes.subscriptions.push(subscription);
    socket.send({type: 'subscribe', request_id: table, query: {table, filters: []}});
    const end = Promise.race([socket.closed.then(() => null), delay(this.#random() * CONNECTION_MS_MAX, null)]);
    for (;;) {
      const frame: Frame | null = await Promise.race([socket.next(), end]);
      if (frame === null || frame.type !== 'subscription_result') break;
      const documents = new Map((frame.data as Doc[]).map(document => [keyOf(table, document._id), document]));
      const by = `live query ${this.#notes.subscriptions.indexOf(subscription)} on ${name}`;
      subscription.results.push({beganMs, endedMs: performance.now(), by, documents});
    }
    subscription.isOpen = false;
    this.#sockets.delete(socket);
    socket.close();
  }
}
