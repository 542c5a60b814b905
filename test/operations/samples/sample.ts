/** What a sample of an operation is. */
import type {ErrorCode} from '../../../shared/errors.ts';

/** One request of an operation. What is not said is what its row says, and the tenant. */
export type Ask = {
  method?: string;
  /** Of the path, by name. */
  params?: Readonly<Record<string, string>>;
  /** The literal that stands for the operation's parameter, of several routes. */
  parameter?: string;
  query?: string;
  body?: unknown;
  headers?: Readonly<Record<string, string | undefined>>;
  /** Which kind of success is expected; absent: the usual one. */
  variant?: string;
  /** Of an app's own response. */
  status?: number;
};
export type Refused = Ask & {code: ErrorCode};
/** Thunks, where something has to be made first. */
type Made<T> = T | (() => T | Promise<T>);
export type Sample = {succeeds: Made<Ask>[]; refused: Made<Refused>};

export const ANONYMOUS = {authorization: undefined};

export const samples = <Name extends string>(byOperation: Record<Name, Sample>) => byOperation;
