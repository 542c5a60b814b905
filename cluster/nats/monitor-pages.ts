/** Monitoring pages of the NATS servers. They are read without credentials, and over TLS if the servers serve them so. */
import {Agent, fetch} from 'undici';
import {NATS_REQUEST_MS} from '../limits.ts';

export class MonitorPages {
  readonly #monitors: readonly string[];
  readonly #dispatcher: Agent;

  /** @param monitors such as http://10.0.0.1:8222. @param ca of pages over TLS */
  constructor(monitors: readonly string[], ca?: string) {
    this.#monitors = monitors;
    this.#dispatcher = new Agent(ca === undefined ? {} : {connect: {ca}});
  }

  /** @throws Error: it cannot be read */
  async read(monitor: string, path: string): Promise<unknown> {
    const signal = AbortSignal.timeout(NATS_REQUEST_MS);
    const response = await fetch(new URL(path, monitor), {signal, dispatcher: this.#dispatcher});
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await response.json();
  }

  /** Of each server. Null: it is down, or its page is. */
  readAll(path: string): Promise<unknown[]> {
    return Promise.all(this.#monitors.map(monitor => this.read(monitor, path).catch(() => null)));
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }
}
