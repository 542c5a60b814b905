/**
 * The one WebSocket (svc.v2) of a client's live queries, which is open while there are any and reopens when it is lost.
 *
 *   idle ──a query──▶ connecting ──hello──▶ open ──closed | silent for 45 s──▶ waiting (back-off) ──▶ connecting
 *                      └──no hello in 15 s, twice, but HTTP answers──▶ refused: for 5 minutes queries go another way
 *
 * An upgrade request can carry only a list of subprotocols, in browsers and in Node, so the key is sent as one of them.
 * The service accepts only short-lived keys this way. A socket does not report why its upgrade failed but HTTP does, so
 * queries then fall back to event streams.
 */
import {
  CLIENT_BACK_OFF_CLEAN_MS,
  NATIVE_SILENCE_MS,
  NATIVE_SOCKET_REFUSED_MS,
  NATIVE_SUBSCRIBE_CHARS_MAX,
} from '../../shared/client-limits.ts';
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import {PROTOCOL} from '../../shared/protocol/ws/version.ts';
import {clientBackOffMs} from '../client/back-off.ts';
import type {Any} from '../values/any.ts';
import {type ErrorSaid, errorSaid, SvcClientError} from './error.ts';
import type {StreamState} from './events.ts';
import {type Transport, wait} from './transport.ts';

/** `WebSocket` of browsers and Node 22, or a compatible class. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => Any;

type Socket = {
  onmessage: ((event: {data: unknown}) => void) | null;
  onclose: (() => void) | null;
  onerror: (() => void) | null;
  send(text: string): void;
  close(): void;
};

type Frame =
  | {type: 'hello' | 'authenticated'}
  | {type: 'fatal_error'; error: ErrorSaid}
  | {type: 'subscription_result'; subscription_id: number; request_id?: string; data: unknown}
  | {type: 'op.error'; id: string; error: ErrorSaid}
  | {type: 'error'; error: ErrorSaid};

export type Subscriber = {
  /** As JSON. */
  readonly query: string;
  become(state: StreamState): void;
  show(result: unknown): void;
  /** The query has failed permanently. */
  fail(error: unknown): void;
  /** No socket is available; the query must use another transport. */
  refused(): void;
};

type Subscription = {
  readonly subscriber: Subscriber;
  /** The id on the current connection. Null: no result has arrived yet. */
  id: number | null;
  /** Consecutive transient failures. */
  failures: number;
};

export class LiveSocket {
  readonly #transport: Transport;
  readonly #socketClass: WebSocketConstructor | null;
  /** By `request_id`. */
  readonly #subscriptions = new Map<string, Subscription>();
  #requests = 0;
  /** Aborts the current run of `#keepOpen`. Null: idle. */
  #running: AbortController | null = null;
  /** The open socket. */
  #socket: Socket | null = null;
  /** Consecutive failed connections; a result resets it. */
  #failures = 0;
  #refusedUntilMs = 0;

  constructor(transport: Transport, socketClass: WebSocketConstructor | null) {
    this.#transport = transport;
    this.#socketClass = socketClass;
  }

  /** Whether a socket is worth trying for this query. */
  mayTake(query: string): boolean {
    if (this.#socketClass === null || query.length > NATIVE_SUBSCRIBE_CHARS_MAX) return false;
    return Date.now() >= this.#refusedUntilMs;
  }

  /** Lifts a refusal whose reason might be gone. */
  mayBeTried(): void {
    this.#refusedUntilMs = 0;
  }

  /** @returns a function that ends the subscription */
  subscribe(subscriber: Subscriber): () => void {
    const request = String(++this.#requests);
    this.#subscriptions.set(request, {subscriber, id: null, failures: 0});
    if (this.#running === null) this.#run();
    else if (this.#socket !== null) this.#ask(request);
    return () => this.#unsubscribe(request);
  }

  #unsubscribe(request: string): void {
    const id = this.#subscriptions.get(request)?.id ?? null;
    this.#subscriptions.delete(request);
    if (id !== null) this.#send({type: 'unsubscribe', subscription_id: id});
    const running = this.#running;
    // Deferred, because a page that switches views ends queries and starts others at once.
    setTimeout(() => {
      if (this.#subscriptions.size > 0 || this.#running !== running) return;
      this.#running = null;
      running?.abort();
    });
  }

  #run(): void {
    const running = new AbortController();
    this.#running = running;
    this.#failures = 0;
    this.#keepOpen(running.signal).then(
      () => {
        if (!running.signal.aborted) this.#refuse();
      },
      error => {
        if (!running.signal.aborted) this.#fail(error);
      },
    );
  }

  #fail(error: unknown): void {
    this.#running?.abort();
    this.#running = null;
    for (const {subscriber} of this.#taken()) subscriber.fail(error);
  }

  /** Resolves when the service does not accept the key on a socket. @throws the signal's abort reason */
  async #keepOpen(signal: AbortSignal): Promise<void> {
    let isSecond = false;
    for (;;) {
      const key = await this.#keyWithin(signal);
      signal.throwIfAborted();
      if (key?.startsWith(KEY_PREFIX) === false) return;
      let isAnswered = false;
      if (key !== null && !(await this.#connection(key, signal))) {
        signal.throwIfAborted();
        isAnswered = await this.#transport.answers(signal);
        if (isAnswered && isSecond) return;
      }
      signal.throwIfAborted();
      isSecond = isAnswered;
      if (isAnswered) continue;
      for (const {subscriber} of [...this.#subscriptions.values()]) subscriber.become('waiting');
      await wait(clientBackOffMs(CLIENT_BACK_OFF_CLEAN_MS, this.#failures++, Math.random()), signal);
    }
  }

  /** Null: getting the key took too long. @throws SvcClientError when there is no key */
  async #keyWithin(signal: AbortSignal): Promise<string | null> {
    const timeout = AbortSignal.timeout(this.#transport.options.timeoutMs);
    return await this.#transport.key(AbortSignal.any([signal, timeout])).catch(caught => {
      if (caught instanceof SvcClientError) throw caught;
      return null;
    });
  }

  #refuse(): void {
    this.#refusedUntilMs = Date.now() + NATIVE_SOCKET_REFUSED_MS;
    this.#running = null;
    for (const {subscriber} of this.#taken()) subscriber.refused();
  }

  #taken(): Subscription[] {
    const all = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    return all;
  }

  /** Resolves when the connection is lost or the signal is aborted. @returns whether it was open */
  #connection(key: string, signal: AbortSignal): Promise<boolean> {
    return new Promise(resolve => {
      let socket: Socket;
      try {
        socket = new this.#socketClass!(this.#transport.socketUrl, [PROTOCOL, key]) as Socket;
      } catch {
        resolve(false); // The address is invalid, or the page cannot open sockets.
        return;
      }
      let wasOpen = false;
      let unanswered = 0;
      const over = () => {
        clearInterval(timer);
        signal.removeEventListener('abort', over);
        socket.onmessage = null;
        socket.onclose = null;
        socket.onerror = () => {}; // Closing a socket that is not open yet reports an error.
        socket.close();
        if (this.#socket === socket) this.#socket = null;
        for (const subscription of this.#subscriptions.values()) subscription.id = null;
        resolve(wasOpen);
      };
      // Pages do not see the service's pings. Any response to this frame shows that the service is alive; the hello
      // comes unrequested.
      const timer = setInterval(() => {
        if (!wasOpen || unanswered++ === 2) over();
        else if (wasOpen) socket.send('{"type":"clear_auth"}');
      }, NATIVE_SILENCE_MS / 3);
      signal.addEventListener('abort', over);
      socket.onclose = over;
      socket.onerror = over;
      socket.onmessage = ({data}) => {
        unanswered = 0;
        const frame = JSON.parse(data as string) as Frame;
        if (frame.type === 'hello') {
          wasOpen = true;
          this.#socket = socket;
          this.#send({type: 'client_hello', protocol: PROTOCOL});
          // Callbacks can end subscriptions and start others, which send their own request.
          for (const request of [...this.#subscriptions.keys()]) this.#ask(request);
        } else this.#receive(frame);
      };
    });
  }

  #receive(frame: Frame): void {
    if (frame.type === 'subscription_result') this.#result(frame.request_id, frame.subscription_id, frame.data);
    else if (frame.type === 'op.error') this.#failed(frame.id, frame.error);
    else if (frame.type === 'fatal_error' && frame.error.code === 'session.tenant_not_found')
      this.#fail(errorSaid(frame.error));
    else if (frame.type === 'error' && frame.error.code === 'session.subscription_error') {
      const id = frame.error.detail?.subscription_id;
      for (const [request, subscription] of this.#subscriptions) {
        if (subscription.id === id) this.#failed(request, frame.error);
      }
    }
  }

  #result(requested: string | undefined, id: number, data: unknown): void {
    const request = requested ?? [...this.#subscriptions].find(([, subscription]) => subscription.id === id)?.[0];
    const subscription = this.#subscriptions.get(request ?? '');
    if (subscription === undefined) {
      if (requested !== undefined) this.#send({type: 'unsubscribe', subscription_id: id}); // Ended meanwhile.
      return;
    }
    const wasRefused = subscription.failures > 0;
    subscription.id = id;
    subscription.failures = 0;
    this.#failures = 0;
    if (wasRefused) subscription.subscriber.become('connected');
    subscription.subscriber.show(data);
  }

  /** @param said an envelope whose detail contains the actual code */
  #failed(request: string, said: ErrorSaid): void {
    const subscription = this.#subscriptions.get(request);
    if (subscription === undefined) return;
    const {subscriber} = subscription;
    const {code = said.code, ...detail} = said.detail ?? {};
    const error = errorSaid({code: String(code), message: said.message, detail});
    if (!error.isTransient) {
      this.#unsubscribe(request);
      subscriber.fail(error);
      return;
    }
    subscription.id = null;
    const socket = this.#socket;
    const ms = Math.max(
      error.retryAfterMs ?? 0,
      clientBackOffMs(CLIENT_BACK_OFF_CLEAN_MS, subscription.failures++, Math.random()),
    );
    const again = () => {
      if (this.#socket === socket) this.#ask(request);
    };
    wait(ms, this.#running?.signal).then(again, () => {});
    subscriber.become('waiting');
  }

  #ask(request: string): void {
    const subscription = this.#subscriptions.get(request);
    if (subscription === undefined) return;
    const {subscriber, failures} = subscription;
    this.#socket?.send(`{"type":"subscribe","request_id":"${request}","query":${subscriber.query}}`);
    if (failures === 0) subscriber.become('connected');
  }

  #send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }
}
