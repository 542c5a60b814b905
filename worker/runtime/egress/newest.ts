/** The way out of a thread or process that is told with each call which one it is: connections are kept with the newest. */
import type {EgressDoor} from '../../../shared/ipc/egress.ts';
import {Egress} from './connector.ts';

export class NewestEgress {
  #egress: Egress | null = null;
  #text = '';

  of(door: EgressDoor): Egress {
    const text = JSON.stringify(door);
    if (this.#egress !== null && text === this.#text) return this.#egress;
    // What the new policy closes must not stay open because it was open before.
    void this.#egress?.close();
    this.#egress = new Egress(door);
    this.#text = text;
    return this.#egress;
  }
}
