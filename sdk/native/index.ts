/** Entry point `svc/client`, a typed client of the native API for Node and browsers. */
export {
  type ClientOptions,
  createClient,
  type JournalOptions,
  type NativeClient,
  type OperationOptions,
  type Page,
  type PutOptions,
  type UpsertOptions,
} from './client.ts';
export {SvcClientError} from './error.ts';
export type {StreamState} from './events.ts';
export type {LiveOptions} from './live.ts';
export type {WebSocketConstructor} from './socket.ts';
export {type Reference, type ScheduledMutation, Transaction, type TransactionResult, versionOf} from './transaction.ts';
export type {
  AnyTables,
  BatchQuery,
  BatchResult,
  CallOptions,
  Changes,
  ConditionOptions,
  Counted,
  Doc,
  Filter,
  JournalCause,
  JournalRecord,
  JournalWrite,
  Order,
  Put,
  Query,
  Shown,
  UniqueIndex,
  Written,
} from './types.ts';
