/** What crosses between the main thread and a query thread: queries of one moment, and their results in the same order. */
import type {ErrorObject} from '../../../shared/errors.ts';
import type {Execution} from '../execution.ts';
import type {SyncResult} from '../isolate/sync-runner.ts';

/** The environment is the same for all of a batch. */
export type QueryBatch = {env: Readonly<Record<string, string>>; executions: Omit<Execution, 'env'>[]};
/** `refused`: the query could not be run to its end, for a reason that is not the code's. */
export type QueryBatchResult = (SyncResult | {refused: ErrorObject})[];

/** What a query thread is told at its start. */
export type QueryThreadSettings = {databasePath: string};
