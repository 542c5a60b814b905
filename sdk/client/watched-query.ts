/** A query that a client watches, as it is held. */
import type {Value} from '../values/value.ts';
import type {FunctionCall, QueryToken} from './function-call.ts';

/** The text of a result. Null: it has not been needed, and can be made from the value. */
export type ShownText = {readonly digest: string; readonly text: string | null};

export type QueryResult = {readonly ok: true; readonly value: Value} | {readonly ok: false; readonly error: Error};

export type Query = {
  readonly token: QueryToken;
  /** Never used for another one, so that a late result of one that was removed is told from others. */
  readonly id: number;
  readonly call: FunctionCall;
  readonly paginated: boolean;
  subscribers: number;
  /** Whether the server has it in its set, on the present socket. */
  isSent: boolean;
  journal: string | undefined;
  /** As the server last said. Undefined: not yet. */
  result: QueryResult | undefined;
  /** Of a result that is a value. Undefined: none, or one that is not to be relied on. */
  shown: ShownText | undefined;
};
