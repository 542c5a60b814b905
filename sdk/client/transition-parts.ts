/** Reassembles a transition that arrives in several parts. */
import type {ServerMessage} from '../../shared/protocol/function-socket/server-message.ts';

type Part = Extract<ServerMessage, {type: 'transition_part'}>;

export class TransitionParts {
  #texts: string[] = [];

  /** @returns the whole text with the last part, null before that, undefined when this is not the next part */
  add({index, count, text}: Part): string | null | undefined {
    if (index !== this.#texts.length || index >= count) return undefined;
    this.#texts.push(text);
    if (index + 1 < count) return null;
    const whole = this.#texts.join('');
    this.#texts = [];
    return whole;
  }
}
