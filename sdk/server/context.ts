/** The first argument of each kind of handler. The type contains only members that the kind supports. */
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

/**
 * The context of actions and HTTP actions, which can access data only through functions. It has `DataModel` as a
 * parameter for symmetry.
 */
export interface GenericActionCtx<DataModel extends GenericDataModel> {
  /** @internal */
  readonly _dataModel?: DataModel;
  /** Runs a query in its own transaction. */
  runQuery<Query extends FunctionReference<'query' | 'paginatedQuery', FunctionVisibility>>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>>;
  /** Runs a mutation in its own transaction, which is committed when the promise resolves. */
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
  /** @param delayMs milliseconds from now @returns the job's id, for `cancel` */
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
  /** Cancels a pending job. Does nothing if the job is no longer pending. */
  cancel(id: string): Promise<void>;
}

export interface Auth {
  /** Null: the request has no token. */
  getUserIdentity(): Promise<UserIdentity | null>;
  /** @throws Error when the request has no token */
  getVerifiedIdentity(): Promise<UserIdentity>;
}

export interface UserIdentity {
  /** `issuer|subject`: stable and unique, so it can be used as a key. */
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
