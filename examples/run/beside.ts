/** What an example needs around it: on a developer's machine it is played by small servers on the page's own origin. */
import type {IncomingMessage, ServerResponse} from 'node:http';

/** @param path of the request, below where the handler stands: `/sign-in` */
export type Handler = (request: IncomingMessage, response: ServerResponse, path: string) => void | Promise<void>;

export type Beside = {
  /** Where they stand: `/auth` → the handler of all requests below it. */
  handlers: Record<string, Handler>;
  /** Environment variables of the functions. */
  environment: Record<string, string>;
};

export function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, {'content-type': 'application/json', 'cache-control': 'no-store', ...headers});
  response.end(status === 204 ? undefined : JSON.stringify(body));
}

const BODY_CHARS_MAX = 10_000;

/** The JSON object that was sent; null: it was none. */
export async function readObject(request: IncomingMessage): Promise<Record<string, unknown> | null> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > BODY_CHARS_MAX) return null;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null; // The answer says what it should have been.
  }
}
