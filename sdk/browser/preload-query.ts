/** The function `preloadQuery`, for servers that render pages. It is separate so that pages do not load it. */
import {encodeDocument} from '../../shared/values/wire-value.ts';
import {FunctionCall} from '../client/function-call.ts';
import type {Preloaded} from '../client/preloaded.ts';
import type {FunctionReference, OptionalRestArgs} from '../server/function-reference.ts';
import {SvcHttpClient} from './http-client.ts';

/**
 * Runs a query for a page that is being rendered. `usePreloadedQuery` of `svc/react` shows its result until the live
 * result is at least as new.
 * @param client determines the deployment and the user
 * @throws Error when the function failed or the response is not valid
 */
export async function preloadQuery<Query extends FunctionReference<'query'>>(
  client: SvcHttpClient,
  query: Query,
  ...[args]: OptionalRestArgs<Query>
): Promise<Preloaded<Query>> {
  const call = new FunctionCall(query, args);
  const {value, version = null} = await SvcHttpClient.answerOf(client, call);
  return {path: call.path, args: call.argsText, value: encodeDocument(value), version};
}
