/**
 * The client `SvcHttpClient`, which sends one HTTP request per call. Its only state is the token and the mutation
 * queue.
 */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import {decodeValue} from '../../shared/values/wire-value.ts';
import {deploymentUrl} from '../client/deployment-url.ts';
import {FunctionCall} from '../client/function-call.ts';
import {type CallKind, echoLines, type Logger, type LoggerOption, loggerOf} from '../client/logger.ts';
import {userOf} from '../client/token-lifetime.ts';
import type {FunctionReference, FunctionReturnType, OptionalRestArgs} from '../server/function-reference.ts';
import type {Value} from '../values/value.ts';
import type {ArgsAndOptions} from './args-and-options.ts';

/** The part of `fetch` that the client uses. */
export type Fetch = (
  url: string,
  init: {method: string; headers: Record<string, string>; body: string},
) => Promise<{readonly ok: boolean; readonly status: number; text(): Promise<string>}>;

export interface SvcHttpClientOptions {
  /** A JWT that identifies the caller. Default: none, so calls are made without a user. */
  auth?: string | undefined;
  /** Default: the global `fetch`. */
  fetch?: Fetch | undefined;
  /** Receives the lines that functions logged. Default: the console. False: they are discarded. */
  logger?: LoggerOption;
}

export interface HttpMutationOptions {
  /** Do not wait for the mutations called before. Default: false. */
  skipQueue?: boolean;
}

type Answer =
  | {status: 'success'; value: unknown; version?: DataVersion; logLines?: string[]}
  | {status: 'error'; errorMessage: string; logLines?: string[]};

export class SvcHttpClient {
  readonly url: string;
  readonly #fetch: Fetch;
  readonly #logger: Logger;
  #token: string | undefined;
  /** The mutation called last; resolves when it has succeeded or failed. */
  #lastMutation: Promise<unknown> = Promise.resolve();

  /** @param url of the deployment: `https://host/svc/{tenant_id}`. @throws Error when it is not such an address */
  constructor(url: string, options: SvcHttpClientOptions = {}) {
    this.url = deploymentUrl(url);
    // Browsers require that their `fetch` is called on the global object.
    this.#fetch = options.fetch ?? ((to, init) => fetch(to, init));
    this.#logger = loggerOf(options.logger);
    this.#token = options.auth;
  }

  /** @internal A query's result, and the version of the data it was read from if the server reports one. */
  static answerOf(client: SvcHttpClient, call: FunctionCall): Promise<{value: Value; version?: DataVersion}> {
    return client.#answer('query', 'query', call, client.#token, {version: true});
  }

  /** Authenticates all later calls with this token. */
  setAuth(token: string): void {
    this.#token = token;
  }

  /** Makes all later calls without a user. */
  clearAuth(): void {
    this.#token = undefined;
  }

  /** @throws Error when the function failed or the response is not valid */
  async query<Query extends FunctionReference<'query'>>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>> {
    return await this.#post('query', 'query', new FunctionCall(query, args[0]), this.#token);
  }

  /** Reads one page. The arguments include `paginationOpts`. */
  async paginatedQuery<Query extends FunctionReference<'paginatedQuery'>>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>> {
    return await this.#post('query', 'query/paginated', new FunctionCall(query, args[0]), this.#token);
  }

  /**
   * Mutations run one after the other, in the order of their calls; a failed one does not stop the next. The client
   * never sends a mutation again: without a response it is unknown whether the mutation ran.
   */
  async mutation<Mutation extends FunctionReference<'mutation'>>(
    mutation: Mutation,
    ...[args, options]: ArgsAndOptions<Mutation, HttpMutationOptions>
  ): Promise<FunctionReturnType<Mutation>> {
    const call = new FunctionCall(mutation, args);
    const token = this.#token;
    // Runs as the user who called it, with a newer token of that user if there is one.
    const run = () =>
      this.#post<FunctionReturnType<Mutation>>(
        'mutation',
        'mutation',
        call,
        userOf(token) === userOf(this.#token) ? this.#token : token,
      );
    if (options?.skipQueue === true) return await run();
    const answer = this.#lastMutation.then(run);
    this.#lastMutation = answer.catch(() => {}); // The caller gets the rejection from `answer`.
    return await answer;
  }

  async action<Action extends FunctionReference<'action'>>(
    action: Action,
    ...args: OptionalRestArgs<Action>
  ): Promise<FunctionReturnType<Action>> {
    return await this.#post('action', 'action', new FunctionCall(action, args[0]), this.#token);
  }

  async #post<T>(kind: CallKind, endpoint: string, call: FunctionCall, token: string | undefined): Promise<T> {
    return (await this.#answer(kind, endpoint, call, token, {})).value as T;
  }

  async #answer(
    kind: CallKind,
    endpoint: string,
    call: FunctionCall,
    token: string | undefined,
    wishes: {version?: true},
  ): Promise<{value: Value; version?: DataVersion}> {
    const response = await this.#fetch(`${this.url}/${endpoint}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(token === undefined ? {} : {Authorization: `Bearer ${token}`}),
      },
      body: call.message({...wishes, format: 'svc_encoded_json'}),
    });
    const text = await response.text();
    if (!response.ok && response.status !== 560) throw new Error(text);
    const answer = decodeValue(text) as unknown as Answer;
    echoLines(this.#logger, kind, call.path, answer.logLines);
    if (answer.status === 'error') throw new Error(answer.errorMessage);
    return answer as {value: Value; version?: DataVersion};
  }
}
