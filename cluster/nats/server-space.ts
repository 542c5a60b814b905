/**
 * Space of the NATS servers until their `max_file_store`, as their monitoring pages report it. A server without space
 * stores nothing more of any stream, also not the leases of hosts, so that reads end as well. So part of it is reserved.
 */
import {Agent, fetch} from 'undici';
import {NATS_REQUEST_MS, NATS_RESERVE_BYTES, NATS_RESERVE_SHARE} from '../limits.ts';

/** The part of `/jsz` that is read. `max_storage`: without `max_file_store`, a share of the disk. */
type Jsz = {readonly config?: {readonly max_storage?: unknown}; readonly storage?: unknown};

export class ServerSpace {
  readonly #monitors: readonly string[];
  readonly #dispatcher: Agent;

  /** @param monitors such as http://10.0.0.1:8222. @param ca of pages over TLS */
  constructor(monitors: readonly string[], ca?: string) {
    this.#monitors = monitors;
    this.#dispatcher = new Agent(ca === undefined ? {} : {connect: {ca}});
  }

  /** Bytes that each server can store for logs and bases. Null: no page can be read, or has a limit. */
  async freeBytes(): Promise<number | null> {
    const found = await Promise.all(this.#monitors.map(monitor => this.#freeBytesOf(monitor)));
    const known = found.filter(bytes => bytes !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  async #freeBytesOf(monitor: string): Promise<number | null> {
    try {
      const signal = AbortSignal.timeout(NATS_REQUEST_MS);
      const response = await fetch(new URL('/jsz', monitor), {signal, dispatcher: this.#dispatcher});
      const {config, storage} = (await response.json()) as Jsz;
      return freeBytesIn(config?.max_storage, storage);
    } catch {
      // It is down, or its page is: the space of the others is known.
      return null;
    }
  }
}

function freeBytesIn(most: unknown, stored: unknown): number | null {
  if (typeof most !== 'number' || typeof stored !== 'number' || most <= 0) return null;
  const reserved = Math.min(NATS_RESERVE_BYTES, most * NATS_RESERVE_SHARE);
  return Math.max(0, Math.floor(most - reserved - stored));
}
