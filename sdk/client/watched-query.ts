/** The state of a query that a client watches. */
import type {Value} from '../values/value.ts';
import type {FunctionCall, QueryToken} from './function-call.ts';

/** The text of a result. Null: not needed so far; it can be created from the value. */
export type ShownText = {readonly digest: string; readonly text: string | null};

export type QueryResult = {readonly ok: true; readonly value: Value} | {readonly ok: false; readonly error: Error};

export type Query = {
  readonly token: QueryToken;
  /** Never reused, so that a late result of a removed query is not taken for another query's. */
  readonly id: number;
  readonly call: FunctionCall;
  readonly paginated: boolean;
  subscribers: number;
  /** Whether the server has it in its set on the current socket. */
  isSent: boolean;
  journal: string | undefined;
  /** As the server last reported it. Undefined: not yet. */
  result: QueryResult | undefined;
  /** For a result that is a value. Undefined: none, or one that cannot be relied on. */
  shown: ShownText | undefined;
};
