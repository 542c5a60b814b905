/** Reads answers that arrive line by line, such as logs and event streams. */
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

/** The objects of an answer of type `application/x-ndjson`; null for an empty line, which ends the history of a log. */
export async function* jsonLines<O extends AnyOperation, T>(
  operation: O,
  input: Input<O>,
  options: CallOptions,
): AsyncGenerator<T | null> {
  for await (const line of linesOf(await callRaw(operation, input, options)))
    yield line.trim() === '' ? null : (JSON.parse(line) as T);
}

export type StreamEvent<T> = {readonly name: string; readonly id: string | null; readonly data: T};

/** The events of an answer of type `text/event-stream` with data, which is one line of JSON. */
export async function* events<O extends AnyOperation, T>(
  operation: O,
  input: Input<O>,
  options: CallOptions,
): AsyncGenerator<StreamEvent<T>> {
  let name = 'message';
  let id: string | null = null;
  for await (const line of linesOf(await callRaw(operation, input, options))) {
    const [, field, value = ''] = /^(event|id|data): (.*)$/.exec(line) ?? [];
    if (field === 'event') name = value;
    else if (field === 'id') id = value;
    else if (field === 'data') yield {name, id, data: JSON.parse(value) as T};
    else if (line === '') [name, id] = ['message', null];
  }
}
