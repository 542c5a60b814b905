/** The first argument of each kind of handler. A member that a kind does not have is not in its type. */
import type {GenericId, Value} from '../values/value.ts';
import type {GenericDataModel} from './data-model.ts';
import type {GenericDatabaseReader, GenericDatabaseWriter} from './database.ts';
import type {
  FunctionReference,
  FunctionReturnType,
  FunctionVisibility,
  OptionalRestArgs,
} from './function-reference.ts';

export interface GenericQueryCtx<DataModel extends GenericDataModel> {
  db: GenericDatabaseReader<DataModel>;
  auth: Auth;
}

export interface GenericMutationCtx<DataModel extends GenericDataModel> {
  db: GenericDatabaseWriter<DataModel>;
  auth: Auth;
  scheduler: Scheduler;
}

/** Of actions and HTTP actions. The data model is named for symmetry: they reach data through functions only. */
export interface GenericActionCtx<DataModel extends GenericDataModel> {
  /** @internal */
  readonly _dataModel?: DataModel;
  /** In a transaction of its own. */
  runQuery<Query extends FunctionReference<'query' | 'paginatedQuery', FunctionVisibility>>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>>;
  /** In a transaction of its own: committed when the promise resolves. */
  runMutation<Mutation extends FunctionReference<'mutation', FunctionVisibility>>(
    mutation: Mutation,
    ...args: OptionalRestArgs<Mutation>
  ): Promise<FunctionReturnType<Mutation>>;
  runAction<Action extends FunctionReference<'action', FunctionVisibility>>(
    action: Action,
    ...args: OptionalRestArgs<Action>
  ): Promise<FunctionReturnType<Action>>;
  scheduler: Scheduler;
  auth: Auth;
}

export type SchedulableFunctionReference = FunctionReference<'mutation', FunctionVisibility>;

/** Runs mutations later, exactly once. In a mutation, scheduling is part of its transaction. */
export interface Scheduler {
  /** @returns the job's id, for `cancel` */
  runAfter<Mutation extends SchedulableFunctionReference>(
    delayMs: number,
    functionReference: Mutation,
    ...args: OptionalRestArgs<Mutation>
  ): Promise<GenericId<'_scheduled_functions'>>;
  runAt<Mutation extends SchedulableFunctionReference>(
    timestamp: number | Date,
    functionReference: Mutation,
    ...args: OptionalRestArgs<Mutation>
  ): Promise<GenericId<'_scheduled_functions'>>;
  /** A job that is not pending any more is left as it is. */
  cancel(id: string): Promise<void>;
}

export interface Auth {
  /** Null: the request carries no token. */
  getUserIdentity(): Promise<UserIdentity | null>;
  /** Throws when the request carries no token. */
  getVerifiedIdentity(): Promise<UserIdentity>;
}

export interface UserIdentity {
  /** `issuer|subject`: stable and unique, for use as a key. */
  readonly tokenIdentifier: string;
  readonly subject: string;
  readonly issuer: string;
  readonly name?: string;
  readonly givenName?: string;
  readonly familyName?: string;
  readonly nickname?: string;
  readonly preferredUsername?: string;
  readonly profileUrl?: string;
  readonly pictureUrl?: string;
  readonly websiteUrl?: string;
  readonly email?: string;
  readonly emailVerified?: boolean;
  readonly gender?: string;
  readonly birthday?: string;
  readonly timezone?: string;
  readonly language?: string;
  readonly phoneNumber?: string;
  readonly phoneNumberVerified?: boolean;
  readonly address?: string;
  /** ISO 8601. */
  readonly updatedAt?: string;
  /** Other claims. */
  readonly [claim: string]: Value | undefined;
}

export type UserIdentityAttributes = Omit<UserIdentity, 'tokenIdentifier'>;
