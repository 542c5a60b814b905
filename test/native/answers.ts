/** The answers that `svc/client` gets in tests without a service, one after the other. */
import {expect} from 'vitest';
import {createClient, type NativeClient, SvcClientError} from '../../sdk/native/index.ts';

export type Sent = {url: string; headers: Headers; body: unknown};
type Options = Partial<Omit<Parameters<typeof createClient>[0], 'fetch'>>;

/** A client whose requests are answered by these, one after the other; the last one again and again. Without sockets unless said. */
export function answered(answers: (() => Response)[], options: Options = {}): {db: NativeClient; sent: Sent[]} {
  const sent: Sent[] = [];
  const fetched = async (url: unknown, init?: RequestInit) => {
    init?.signal?.throwIfAborted();
    const answer = answers[Math.min(sent.length, answers.length - 1)]!;
    sent.push({url: String(url), headers: new Headers(init?.headers), body: init?.body});
    return answer();
  };
  const said = {url: 'http://svc', tenant: 't', key: 'k', webSocket: null, ...options};
  return {db: createClient({...said, fetch: fetched as typeof fetch}), sent};
}

/** A stream that ends after these. */
export function stream(chunks: readonly (string | Uint8Array)[]): () => Response {
  return () => {
    const body = new ReadableStream({
      start: controller => {
        for (const chunk of chunks) {
          controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
        }
        controller.close();
      },
    });
    return new Response(body, {headers: {'content-type': 'text/event-stream'}});
  };
}

export const record = (sequence: number, text = '') => `id: ${sequence}\ndata: ${JSON.stringify({sequence, text})}\n\n`;
export const open = (id: number, timeline: string) => `event: open\nid: ${id}\ndata: {"timeline":"${timeline}"}\n\n`;
export const end = (code: string) => `event: end\ndata: {"error":{"code":"${code}","message":"m"}}\n\n`;
export const refused = (status: number, code: string) => () => Response.json({error: {code, message: 'm'}}, {status});

export async function failureOf(call: Promise<unknown>): Promise<SvcClientError> {
  const caught: unknown = await call.then(
    () => new Error('it succeeded'),
    error => error,
  );
  expect(caught).toBeInstanceOf(SvcClientError);
  return caught as SvcClientError;
}
