/**
 * Listens for routers on a worker's socket. A cleaner of temporary folders can delete the socket file: existing
 * connections stay, but routers that start later would not find the worker. So the file is polled, and replaced by a
 * new socket when it is gone.
 *
 *   closed ──listen──▶ listening ──name is gone──▶ listening on a socket of the same name
 */
import {existsSync} from 'node:fs';
import {createServer, type Server, type Socket} from 'node:net';
import {dirname} from 'node:path';
import {SOCKET_POLL_MS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {ensurePrivateDirectory} from '../../shared/private-directory.ts';

/** Owned by the worker; the routers' group can traverse it to reach the socket. */
const SHARED_DIRECTORY_MODE = 0o710;

export class WorkerSocket {
  readonly #path: string;
  /** The socket has a directory of its own, whose mode restricts who can connect. */
  readonly #hasDirectory: boolean;
  readonly #onConnection: (socket: Socket) => void;
  readonly #log: Logger;
  #server: Server | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(path: string, hasDirectory: boolean, onConnection: (socket: Socket) => void, log: Logger) {
    this.#path = path;
    this.#hasDirectory = hasDirectory;
    this.#onConnection = onConnection;
    this.#log = log;
  }

  /** Resolves when routers can connect. */
  async listen(): Promise<void> {
    this.#server = await this.#listen();
    this.#timer = setInterval(() => void this.#poll(), SOCKET_POLL_MS).unref();
  }

  /** Accepts no more connections; existing ones stay. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#server?.close();
    this.#server = null;
  }

  #listen(): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer(this.#onConnection);
      server.once('error', reject);
      server.listen({path: this.#path, writableAll: this.#hasDirectory}, () => resolve(server));
    });
  }

  async #poll(): Promise<void> {
    // Null: the last poll has not ended.
    if (this.#server === null || existsSync(this.#path)) return;
    const mode = this.#hasDirectory ? SHARED_DIRECTORY_MODE : undefined;
    if (!ensurePrivateDirectory(dirname(this.#path), mode)) return;
    // Closing it removes any file with its name, so this comes first.
    this.#server.close();
    this.#server = null;
    try {
      const server = await this.#listen();
      if (this.#timer === null) server.close();
      else this.#server = server;
      this.#log.warn('the socket of a worker was removed; it listens on a new one', {path: this.#path});
    } catch (error) {
      // Connected routers are still served. A router that starts later waits until the tenant has slept and has a new
      // worker.
      this.#log.error('the socket of a worker was removed, and it cannot listen on a new one', {
        path: this.#path,
        error,
      });
    }
  }
}
