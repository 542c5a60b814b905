/** Why queries ran again, for pages that show it. */
import type {Because, QueryUpdate} from '../../shared/protocol/function-socket/server-message.ts';
import type {Value} from '../values/value.ts';
import type {Query} from './watched-query.ts';

export type Explained = {
  /** The journal sequence of everything shown from now on. */
  ts: number;
  queries: {path: string; args: Record<string, Value>; because: Because}[];
};

export function explained(ts: number, updates: {query: Query; update: QueryUpdate}[]): Explained {
  const queries = updates.flatMap(({query: {call}, update: {because}}) =>
    because === undefined ? [] : [{path: call.path, args: call.args(), because}],
  );
  return {ts, queries};
}
