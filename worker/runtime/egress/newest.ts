/**
 * The egress client of a thread or process that receives its egress door with each call: connections are kept only for
 * the newest.
 */
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import {Egress} from './connector.ts';

export class NewestEgress {
  #egress: Egress | null = null;
  #text = '';

  of(endpoint: EgressEndpoint): Egress {
    const text = JSON.stringify(endpoint);
    if (this.#egress !== null && text === this.#text) return this.#egress;
    // A connection that the new policy refuses must not stay open because it was open before.
    void this.#egress?.close();
    this.#egress = new Egress(endpoint);
    this.#text = text;
    return this.#egress;
  }
}
