/**
 * A stream of server-sent events that reconnects after every failure, except an error that would end the next stream
 * too. It continues after the last event that was delivered, so no event is missing and none comes twice.
 *
 *   connecting ──the head came──▶ open ──ended | cut | silent for 45 s──▶ waiting (back-off) ──▶ connecting
 *        └──an error that stays──▶ thrown        └──`end` without an error──▶ over
 */
import {CLIENT_BACK_OFF_CLEAN_MS, NATIVE_SILENCE_MS} from '../../shared/client-limits.ts';
import {clientBackOffMs} from '../client/back-off.ts';
import {type ErrorSaid, errorSaid, SvcClientError} from './error.ts';
import {type Transport, unreachable, wait} from './transport.ts';

export type StreamEvent = {readonly event: string; readonly id: string | null; readonly data: string};
export type StreamState = 'connected' | 'waiting';

export type StreamOptions = {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly signal: AbortSignal | undefined;
  readonly onState?: (state: StreamState) => void;
};

export async function* eventsOf(transport: Transport, options: StreamOptions): AsyncGenerator<StreamEvent, void, void> {
  const {signal, onState} = options;
  let lastId = '';
  for (let failures = 0; ; ) {
    let retryMs = 0;
    try {
      for await (const event of oneStream(transport, options, lastId, () => onState?.('connected'))) {
        signal?.throwIfAborted();
        if (event.id !== null) lastId = event.id;
        if (event.event === 'end') {
          const error = endOf(event.data);
          if (error === null) return;
          // The key has expired, and there might be another by now. If not, the next response says so.
          if (error.status !== UNAUTHORIZED) throw error;
          break;
        }
        // A response that has only started is not progress: if it keeps ending early, the delay must grow.
        if (event.event === 'message' && event.id !== null) failures = 0;
        if (event.data !== '') yield event;
      }
    } catch (caught) {
      signal?.throwIfAborted();
      if (!(caught instanceof SvcClientError) || !caught.isTransient) throw caught;
      retryMs = caught.retryAfterMs ?? 0;
    }
    onState?.('waiting');
    await wait(Math.max(retryMs, clientBackOffMs(CLIENT_BACK_OFF_CLEAN_MS, failures++, Math.random())), signal);
  }
}

/** Yields events until this one stream ends. @throws SvcClientError */
async function* oneStream(
  transport: Transport,
  {method, path, body, signal}: StreamOptions,
  lastId: string,
  opened: () => void,
): AsyncGenerator<StreamEvent, void, void> {
  const silence = new AbortController();
  const either = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), NATIVE_SILENCE_MS);
  };
  try {
    heard();
    const headers: Record<string, string> = lastId === '' ? {} : {'last-event-id': lastId};
    const response = await transport.open(method, path, {body, headers, signal: either});
    opened();
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const blocks = new Blocks();
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      heard();
      for (const block of blocks.ended(decoder.decode(value, {stream: true}))) yield eventOf(block);
    }
  } catch (caught) {
    throw caught instanceof SvcClientError ? caught : unreachable(caught);
  } finally {
    clearTimeout(timer);
    silence.abort(); // also when the consumer has stopped
  }
}

/** Splits text at empty lines. A long block can arrive in many chunks, each of which is scanned once. */
class Blocks {
  /** Chunks of the unfinished block. */
  #chunks: string[] = [];
  /** A trailing line feed: together with the next chunk it might form an empty line. */
  #feed = '';

  /** @returns the blocks that end in this chunk */
  ended(text: string): string[] {
    const blocks = (this.#feed + text).split('\n\n');
    const begun = blocks.pop()!;
    this.#feed = begun.endsWith('\n') ? '\n' : '';
    if (blocks.length > 0) {
      blocks[0] = this.#chunks.join('') + blocks[0]!;
      this.#chunks = [];
    }
    this.#chunks.push(begun.slice(0, begun.length - this.#feed.length));
    return blocks;
  }
}

function eventOf(block: string): StreamEvent {
  let event = 'message';
  let id: string | null = null;
  let data = '';
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) data += line.slice(6);
    else if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('event: ')) event = line.slice(7);
  }
  return {event, id, data};
}

const UNAUTHORIZED = 401;

/** Null: a regular end, because nothing more was requested. */
function endOf(data: string): SvcClientError | null {
  const {error} = JSON.parse(data) as {error: ErrorSaid | null};
  return error === null ? null : errorSaid(error);
}
