/**
 * A stream of the service's events that comes back: after whatever ended it but an error that would end the next one too. It goes on
 * behind the last event that was handed over, so that none is missing and none comes twice.
 *
 *   connecting ──the head came──▶ open ──ended | cut | silent for 45 s──▶ waiting (back-off) ──▶ connecting
 *        └──an error that stays──▶ thrown        └──`end` without an error──▶ over
 */
import {CLIENT_BACK_OFF_CLEAN_MS, NATIVE_SILENCE_MS} from '../../shared/client-limits.ts';
import {backOffMs} from '../client/back-off.ts';
import {SvcClientError} from './error.ts';
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
        failures = 0;
        if (event.id !== null) lastId = event.id;
        if (event.event === 'end') {
          const error = endOf(event.data);
          if (error === null) return;
          throw error;
        }
        if (event.data !== '') yield event;
      }
    } catch (caught) {
      signal?.throwIfAborted();
      if (!(caught instanceof SvcClientError) || !caught.isTransient) throw caught;
      retryMs = caught.retryAfterMs ?? 0;
    }
    onState?.('waiting');
    await wait(Math.max(retryMs, backOffMs(CLIENT_BACK_OFF_CLEAN_MS, failures++, Math.random())), signal);
  }
}

/** Until it ends. @throws SvcClientError */
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
    let text = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      heard();
      text += decoder.decode(value, {stream: true});
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) yield eventOf(block);
    }
  } catch (caught) {
    throw caught instanceof SvcClientError ? caught : unreachable(caught);
  } finally {
    clearTimeout(timer);
    silence.abort(); // also where whoever listens has left
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

/** Null: nothing more was asked for. Statuses are those that the same errors have elsewhere. */
function endOf(data: string): SvcClientError | null {
  const {error} = JSON.parse(data) as {error: {code: string; message: string; detail?: Record<string, unknown>} | null};
  if (error === null) return null;
  const {code, message, detail} = error;
  return new SvcClientError(code, message, /^session\.(worker|over)/.test(code) ? 503 : 400, detail);
}
