/**
 * `fetch` of actions. The host makes the request, under the tenant's egress policy. Bodies are transferred chunk by
 * chunk as they are read, so an unread response uses no memory here.
 */
import {concatenated} from '../globals/bytes.ts';
import {FETCH_BODY_BUFFERED_BYTES} from '../limits.ts';
import {asyncCall, notifyHost} from './async-call.ts';
import {pulledBody} from './pulled-body.ts';

export {ActionWebSocket, networkEvent} from './web-socket.ts';

/** A fetch request to the host; a short body comes with it. */
export type FetchCall = {
  /** Increases over the life of a realm. */
  id: number;
  method: string;
  url: string;
  headers: [string, string][];
  redirect: 'follow' | 'error' | 'manual';
  /** The body follows in chunks (`fetchSend`). */
  streams: boolean;
};

export type FetchAnswer = {
  status: number;
  statusText: string;
  headers: [string, string][];
  url: string;
  redirected: boolean;
};

let lastFetch = 0;

export async function actionFetch(request: Request): Promise<Response> {
  const id = ++lastFetch;
  const {signal} = request as {signal?: AbortSignal};
  if (signal?.aborted) throw signal.reason;
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => {
      notifyHost('fetchCancel', {id});
      reject(signal.reason);
    });
  });
  // It can be aborted when no code awaits it any more.
  aborted.catch(() => {});
  const answer = await Promise.race([send(id, request), aborted]);
  return responseOf(id, answer, request.method, signal);
}

async function send(id: number, request: Request): Promise<FetchAnswer> {
  const {first, rest} = await requestBody(request);
  const call: FetchCall = {
    id,
    method: request.method,
    url: request.url,
    headers: [...request.headers] as [string, string][],
    redirect: request.redirect as FetchCall['redirect'],
    streams: rest !== null,
  };
  const answered = asyncCall('fetch', call, first ?? undefined);
  if (rest !== null) void sendRest(id, rest);
  return JSON.parse((await answered).text) as FetchAnswer;
}

type RequestBody = {
  /** Null: there is no body. */
  first: Uint8Array | null;
  /** The rest of a long body. */
  rest: ReadableStreamDefaultReader<Uint8Array> | null;
};

/** A short body is sent with its length, and again after a redirect; a long one is streamed. */
async function requestBody({body}: Request): Promise<RequestBody> {
  if (body === null || body === undefined) return {first: null, rest: null};
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= FETCH_BODY_BUFFERED_BYTES) {
    const {done, value} = await reader.read();
    if (done) return {first: joined(chunks), rest: null};
    chunks.push(bytesOf(value));
    length += value.byteLength;
  }
  return {first: joined(chunks), rest: reader};
}

/** If this fails, the host's `fetch` fails. */
async function sendRest(id: number, rest: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    for (;;) {
      const {done, value} = await rest.read();
      await asyncCall('fetchSend', {id, done}, done ? undefined : bytesOf(value));
      if (done) return;
    }
  } catch (failure) {
    notifyHost('fetchCancel', {id});
    await rest.cancel(failure).catch(() => {});
  }
}

/** Statuses whose responses have no body, according to the standard. */
const NO_BODY = [101, 103, 204, 205, 304];

function responseOf(id: number, answer: FetchAnswer, method: string, signal: AbortSignal | undefined): Response {
  const {status, statusText, headers, url, redirected} = answer;
  const hasBody = !NO_BODY.includes(status) && method !== 'HEAD';
  const body = hasBody ? pulledBody('fetchBody', {id}, () => notifyHost('fetchCancel', {id}), signal) : null;
  if (!hasBody) notifyHost('fetchCancel', {id});
  const response = new Response(body, {status, statusText, headers});
  Object.defineProperties(response, {
    url: {value: url, configurable: true},
    redirected: {value: redirected, configurable: true},
    type: {value: 'basic', configurable: true},
  });
  return response;
}

export function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError('a chunk of a body must be a Uint8Array');
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? chunks[0]! : concatenated(chunks);
}
