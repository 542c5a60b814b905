/** The log of one tenant, as its worker reaches it: the cluster process passes on what concerns this tenant only. */
import {assert} from '../../shared/assert.ts';
import {EngineError, type LogEngine, type Message, type PublishAnswer, type Subject} from '../log/log-engine.ts';
import type {Answered, EndpointClient} from './endpoint-client.ts';

export class RemoteEngine implements LogEngine {
  readonly #endpoint: EndpointClient;

  constructor(endpoint: EndpointClient) {
    this.#endpoint = endpoint;
  }

  async publish({name: subject}: Subject, bytes: Buffer, expected: number | null): Promise<PublishAnswer> {
    try {
      const {answer} = await this.#endpoint.ask('published', {does: 'publish', subject, expected}, bytes);
      return answer.answer as PublishAnswer;
    } catch (error) {
      if (error instanceof EngineError) return {kind: 'failed', reason: error.message};
      throw error;
    }
  }

  async next({name: subject}: Subject, sequence: number): Promise<Message | null> {
    return messagesIn(await this.#endpoint.ask('messages', {does: 'next', subject, sequence}))[0] ?? null;
  }

  async last({name: subject}: Subject): Promise<Message | null> {
    return messagesIn(await this.#endpoint.ask('messages', {does: 'last', subject}))[0] ?? null;
  }

  async *messages({name: subject}: Subject, {from, to}: {from: number; to: number}): AsyncGenerator<Message> {
    for (let at = from; at <= to; ) {
      const some = messagesIn(await this.#endpoint.ask('messages', {does: 'messages', subject, from: at, to}));
      const newest = some.at(-1);
      if (newest === undefined) return;
      at = newest.sequence + 1;
      yield* some;
    }
  }

  removeBefore(): Promise<void> {
    assert(false, 'a worker removes nothing of its log');
    return Promise.resolve();
  }

  watch(): AsyncIterable<Message | null> {
    assert(false, 'a worker watches no log');
    return [][Symbol.iterator]() as never;
  }
}

function messagesIn({answer: {messages}, body}: Answered<'messages'>): Message[] {
  let at = 0;
  return messages.map(({subject, sequence, bytes}) => {
    const message = {subject, sequence, bytes: body.subarray(at, at + bytes)};
    at += bytes;
    return message;
  });
}
