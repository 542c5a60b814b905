/**
 * Runs one HTTP action. The body of its `Request` is pulled from the client as it is read. The head of its `Response`
 * is sent when the handler's promise resolves; the body follows as the client accepts it.
 */
import {HTTP_ACTION_PART_BYTES} from '../limits.ts';
import {asyncCall, notifyHost} from './async-call.ts';
import {actionContext} from './context.ts';
import {bytesOf} from './network.ts';
import {pulledBody} from './pulled-body.ts';

/** The request as the host describes it, in `Invocation.args`. */
export type HttpRequestHead = {
  method: string;
  /** The full URL, as the client sees it. */
  url: string;
  headers: [string, string][];
  hasBody: boolean;
};

/** Parameters of `httpRespond`. */
export type HttpResponseHead = {status: number; headers: [string, string][]};

type Handler = (context: object, request: Request) => unknown;

/**
 * Resolves when the host has the last chunk of the response. @param head JSON of HttpRequestHead. @throws errors of the
 * handler or of its body
 */
export async function runHttpAction(handler: (context: object, args: unknown) => unknown, head: string): Promise<void> {
  const response = await (handler as Handler)(actionContext(), requestOf(JSON.parse(head) as HttpRequestHead));
  if (!(response instanceof Response)) throw new Error('an HTTP action must return a Response');
  const {status} = response;
  const headers = [...response.headers] as [string, string][];
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader() ?? null;
  await asyncCall('httpRespond', {status, headers} satisfies HttpResponseHead);
  if (reader !== null) await sendBody(reader);
}

function requestOf({method, url, headers, hasBody}: HttpRequestHead): Request {
  const bodiless = method === 'GET' || method === 'HEAD' || !hasBody;
  const body = bodiless ? null : pulledBody('httpBody', {}, () => notifyHost('httpBodyCancel', {}));
  return new Request(url, {method, headers, body, ...(body === null ? {} : {duplex: 'half'})} as RequestInit);
}

/** Bytes are copied to the host, so a long chunk crosses in parts. */
async function sendChunk(chunk: Uint8Array): Promise<void> {
  let at = 0;
  do {
    const part = chunk.subarray(at, at + HTTP_ACTION_PART_BYTES);
    at += part.length;
    await asyncCall('httpWrite', {following: chunk.length - at}, part);
  } while (at < chunk.length);
}

async function sendBody(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    try {
      await sendChunk(bytesOf(value));
    } catch (failure) {
      await reader.cancel(failure).catch(() => {});
      throw failure;
    }
  }
}
