/** A reader of server-sent events that takes them when it is asked to, and nothing meanwhile. */
import {once} from 'node:events';
import {type IncomingMessage, request} from 'node:http';
import type {Service} from './service.ts';

/** `data` is parsed. */
export type ServerEvent = {event: string; id: string | null; data: never};
type Asked = {method?: string; body?: unknown; headers?: Record<string, string> | undefined; url?: string};

export class EventReader {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly #response: IncomingMessage;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #decoder = new TextDecoder();
  #text = '';
  /** It broke off. */
  isCut = false;

  private constructor(response: IncomingMessage) {
    this.status = response.statusCode!;
    this.headers = response.headers;
    this.#response = response;
    this.#chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** @param url where the service is reached; its own unless said */
  static async open(service: Service, path: string, {method = 'GET', body, headers, url = service.url}: Asked = {}) {
    const sent = request(url + path, {
      method,
      agent: false,
      headers: {authorization: `Bearer ${service.accessToken}`, ...headers},
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return new EventReader(response);
  }

  /** The next event; null when the stream has ended. Comments, and what has no data, are passed over. */
  async next(): Promise<ServerEvent | null> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end !== -1) {
        const event = parsed(this.#text.slice(0, end));
        this.#text = this.#text.slice(end + 2);
        if (event !== null) return event;
      } else if (!(await this.#more())) return null;
    }
  }

  async take(count: number): Promise<ServerEvent[]> {
    const events: ServerEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === null) throw new Error(`the stream ended after ${events.length} of ${count} events`);
      events.push(event);
    }
    return events;
  }

  /** All there is until it ends. */
  async rest(): Promise<ServerEvent[]> {
    const events: ServerEvent[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) events.push(event);
    return events;
  }

  /** The whole answer, of one that is no stream. */
  async body(): Promise<string> {
    while (await this.#more());
    return this.#text;
  }

  close(): void {
    this.#response.destroy();
  }

  async #more(): Promise<boolean> {
    try {
      const {value, done} = await this.#chunks.next();
      if (done === true) return false;
      this.#text += this.#decoder.decode(value, {stream: true});
      return true;
    } catch {
      this.isCut = true;
      return false;
    }
  }
}

function parsed(block: string): ServerEvent | null {
  let event = 'message';
  let id: string | null = null;
  let data: string | null = null;
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice(7);
    else if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('data: ')) data = (data === null ? '' : `${data}\n`) + line.slice(6);
  }
  return data === null ? null : {event, id, data: JSON.parse(data) as never};
}
