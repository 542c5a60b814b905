/** `SvcHttpClient`: one request a call, nothing kept between them but the queue of mutations. */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import {decodeValue} from '../../shared/values/wire-value.ts';
import {deploymentUrl} from '../client/deployment-url.ts';
import {FunctionCall} from '../client/function-call.ts';
import {type CallKind, echoLines, type Logger, type LoggerOption, loggerOf} from '../client/logger.ts';
import {userOf} from '../client/token-lifetime.ts';
import type {FunctionReference, FunctionReturnType, OptionalRestArgs} from '../server/function-reference.ts';
import type {Value} from '../values/value.ts';
import type {ArgsAndOptions} from './args-and-options.ts';

/** As much of `fetch` as is used. */
export type Fetch = (
  url: string,
  init: {method: string; headers: Record<string, string>; body: string},
) => Promise<{readonly ok: boolean; readonly status: number; text(): Promise<string>}>;

export interface SvcHttpClientOptions {
  /** A JWT that says who the caller is. */
  auth?: string | undefined;
  /** Default: the global one. */
  fetch?: Fetch | undefined;
  /** Where lines go that functions wrote. Default: the console; false: nowhere. */
  logger?: LoggerOption;
}

export interface HttpMutationOptions {
  /** Do not wait for the mutations called before. */
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
  /** Of the mutation called last: settled when its answer is there, whatever that is. */
  #lastMutation: Promise<unknown> = Promise.resolve();

  /** @param url of the deployment: `https://host/svc/{tenant_id}`. @throws Error for what is no such address */
  constructor(url: string, options: SvcHttpClientOptions = {}) {
    this.url = deploymentUrl(url);
    // Browsers want their own called on the global object.
    this.#fetch = options.fetch ?? ((to, init) => fetch(to, init));
    this.#logger = loggerOf(options.logger);
    this.#token = options.auth;
  }

  /** @internal A query's result, and of which version of the data it is, if the server says. */
  static answerOf(client: SvcHttpClient, call: FunctionCall): Promise<{value: Value; version?: DataVersion}> {
    return client.#answer('query', 'query', call, client.#token, {version: true});
  }

  /** For calls from now on. */
  setAuth(token: string): void {
    this.#token = token;
  }

  /** From now on the caller is nobody. */
  clearAuth(): void {
    this.#token = undefined;
  }

  /** @throws Error: the function failed, or there was no proper answer */
  async query<Query extends FunctionReference<'query'>>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>> {
    return (await this.#post(
      'query',
      'query',
      new FunctionCall(query, args[0]),
      this.#token,
    )) as FunctionReturnType<Query>;
  }

  /** One page: `paginationOpts` are among the arguments. */
  async paginatedQuery<Query extends FunctionReference<'paginatedQuery'>>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>> {
    const call = new FunctionCall(query, args[0]);
    return (await this.#post('query', 'query/paginated', call, this.#token)) as FunctionReturnType<Query>;
  }

  /**
   * Mutations run one after the other, in the order of their calls; one that fails does not stop the next. It is not sent again: without
   * an answer nobody knows whether it ran.
   */
  async mutation<Mutation extends FunctionReference<'mutation'>>(
    mutation: Mutation,
    ...[args, options]: ArgsAndOptions<Mutation, HttpMutationOptions>
  ): Promise<FunctionReturnType<Mutation>> {
    const call = new FunctionCall(mutation, args);
    const token = this.#token;
    // As who called it, by a newer token if there is one.
    const run = () =>
      this.#post('mutation', 'mutation', call, userOf(token) === userOf(this.#token) ? this.#token : token) as Promise<
        FunctionReturnType<Mutation>
      >;
    if (options?.skipQueue === true) return await run();
    const answer = this.#lastMutation.then(run);
    this.#lastMutation = answer.catch(() => {}); // Its caller hears of it.
    return await answer;
  }

  async action<Action extends FunctionReference<'action'>>(
    action: Action,
    ...args: OptionalRestArgs<Action>
  ): Promise<FunctionReturnType<Action>> {
    return (await this.#post(
      'action',
      'action',
      new FunctionCall(action, args[0]),
      this.#token,
    )) as FunctionReturnType<Action>;
  }

  async #post(kind: CallKind, endpoint: string, call: FunctionCall, token: string | undefined): Promise<Value> {
    return (await this.#answer(kind, endpoint, call, token, {})).value;
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
