/** Reads answers that arrive line by line: logs as JSON lines, and event streams. */
import {type AnyOperation, type CallOptions, callRaw, type Input} from './client.ts';

/** The lines of a body as they arrive, without line feeds. */
async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** The objects of an answer of type `application/x-ndjson`. Empty lines keep the connection open. */
export async function* jsonLines<O extends AnyOperation, T>(
  operation: O,
  input: Input<O>,
  options: CallOptions,
): AsyncGenerator<T> {
  for await (const line of linesOf(await callRaw(operation, input, options)))
    if (line.trim() !== '') yield JSON.parse(line) as T;
}

export type ServerEvent = {readonly event: string; readonly id: string | null; readonly data: string};

/** The events of an answer of type `text/event-stream`. */
export async function* eventsOf<O extends AnyOperation>(
  operation: O,
  input: Input<O>,
  options: CallOptions,
): AsyncGenerator<ServerEvent> {
  let event = 'message';
  let id: string | null = null;
  let data: string[] = [];
  for await (const line of linesOf(await callRaw(operation, input, options))) {
    const [, name, value] = /^(\w+): ?(.*?)\r?$/.exec(line) ?? [];
    if (name === 'event') event = value!;
    else if (name === 'id') id = value!;
    else if (name === 'data') data.push(value!);
    else if (line.trim() === '' && data.length > 0) {
      yield {event, id, data: data.join('\n')};
      event = 'message';
      data = [];
    }
  }
}
