/** Reads a server's logs and event streams for a command: line by line, and continuously across restarts of the tenant and the server. */

import {createInterface} from 'node:readline';
import {setTimeout as delay} from 'node:timers/promises';
import {InvalidArgumentError} from 'commander';
import {backOffMs} from '../shared/back-off.ts';
import {LOG_ENTRIES_KEEP} from '../shared/limits.ts';
import type {BodyOf, QueryOf} from '../shared/operation-types.ts';
import {RefusedRequest, type ServiceClient} from './client.ts';
import {CommandFailure} from './failure.ts';
import {COMMAND_ATTEMPTS_MAX, COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX} from './limits.ts';
import type {Named, Parameters} from './request-line.ts';

/** The lines of one answer; ends with the connection. @throws CommandFailure */
export async function* linesOf<O extends Named>(
  client: ServiceClient,
  operation: O,
  params: Parameters<O>,
  query: QueryOf<O>,
  signal: AbortSignal,
  body?: BodyOf<O>,
): AsyncGenerator<string> {
  const answer = await client.stream(operation, params, query, true, body);
  const stop = () => void answer.destroy();
  signal.addEventListener('abort', stop);
  try {
    if (signal.aborted) stop();
    yield* createInterface({input: answer, crlfDelay: Number.POSITIVE_INFINITY});
  } catch (caught) {
    if (signal.aborted) return;
    throw new CommandFailure(`the stream broke off: ${(caught as Error).message}`, 1, {cause: caught});
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/**
 * Requests the lines again after each disconnect, until `signal`. @throws CommandFailure if the server does not come
 * back
 */
export async function followLines(
  lines: () => AsyncIterable<string>,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      for await (const line of lines()) {
        failures = 0;
        if (line !== '') onLine(line);
      }
    } catch (caught) {
      const isFinal = caught instanceof RefusedRequest && caught.status !== 503;
      if (signal.aborted) return;
      if (isFinal || !(caught instanceof CommandFailure) || failures >= COMMAND_ATTEMPTS_MAX) throw caught;
    }
    const pause = backOffMs(COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX, failures);
    await delay(pause, undefined, {signal}).catch(() => undefined);
  }
}

/** Separates new lines from those that a new connection repeats, and from the history before the first connection. */
export class SeenLines<Entry> {
  readonly #keyOf: (entry: Entry) => string;
  readonly #atMs: (entry: Entry) => number;
  readonly #keys = new Set<string>();
  #beginMs = Number.NEGATIVE_INFINITY;

  /** @param keyOf numbers start again with the tenant's process. @param atMs when it was logged */
  constructor(keyOf: (entry: Entry) => string, atMs: (entry: Entry) => number) {
    this.#keyOf = keyOf;
    this.#atMs = atMs;
  }

  /** Takes the history before the followed lines, in order. */
  begin(line: string): void {
    this.add(line);
    this.#beginMs = this.#atMs(JSON.parse(line) as Entry);
  }

  /** @returns false if it was seen before */
  add(line: string): boolean {
    const entry = JSON.parse(line) as Entry;
    const key = this.#keyOf(entry);
    if (this.#keys.has(key) || this.#atMs(entry) < this.#beginMs) return false;
    this.#keys.add(key);
    if (this.#keys.size > LOG_ENTRIES_KEEP) this.#keys.delete(this.#keys.values().next().value!);
    return true;
  }
}

/** Parses an option that is a number of lines. */
export function count(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
