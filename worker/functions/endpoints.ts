/**
 * The requests that users of a deployment can make below /svc/{tenant_id}: determines the caller, the function and its
 * arguments. A malformed request or a bad token is refused. A function's rejection of its arguments, and its failure,
 * are a reply with the status `error`.
 */
import type {Buffer} from 'node:buffer';
import type {CommitGroups} from '../../engine/commit/group.ts';
import {cancelJob, cancelOwnJob, insertFunctionJob} from '../../engine/scheduler/jobs.ts';
import {bodyType, decodeBody, wireType} from '../../engine/wire-type.ts';
import {assert} from '../../shared/assert.ts';
import {invalid} from '../../shared/errors.ts';
import {
  FunctionCallBody,
  FunctionRunBody,
  FunctionWatchBody,
  QueryCallBody,
  RunAfterBody,
  RunAtBody,
} from '../../shared/protocol/function-calls.ts';
import type {FunctionKind} from '../../shared/protocol/functions.ts';
import {type Credentials, causeOf, type Request} from '../ipc/decode.ts';
import type {KeptResult} from '../ipc/shared-results.ts';
import {CallError, findFunction, type LiveDeployment, shownPath} from '../runtime/call.ts';
import {functionReply} from '../runtime/call-result.ts';
import type {Caller} from '../runtime/execution.ts';
import type {Identity} from './auth/identity.ts';
import type {Verifier} from './auth/verifier.ts';
import type {Functions} from './functions.ts';
import {checkedJob} from './mutations/mutation-scheduler.ts';

/** A query with its arguments as they came, and the identity to run it as: JSON, or null. */
export type WatchedQuery = {
  readonly kind: 'query' | 'paginatedQuery';
  readonly path: string;
  readonly args: unknown;
  readonly identity: string | null;
};

export type EndpointParts = {
  functions: Functions;
  /** The active deployment's verifier; without a deployment it refuses every token. */
  verifier: () => Verifier;
  groups: CommitGroups;
  /** The deployment that the write under way uses. */
  writing: () => LiveDeployment | null;
  clock: () => number;
  /** Of the tenant's journal. */
  timeline: string;
  redactErrors: boolean;
};

/** The parts of a request that are used here. */
type Call = Pick<Request, 'body' | 'caller' | 'requestId' | 'keyId' | 'sessionId'>;

/** A FunctionReply or QueryReply as JSON, and what it repeats if a router may cache it. */
type Reply = {readonly json: string; readonly kept?: KeptResult};

export class FunctionEndpoints {
  readonly #parts: EndpointParts;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
  }

  async call(kind: FunctionKind, request: Call & Pick<Request, 'isForCache'>): Promise<Reply> {
    const {body, caller: credentials, isForCache} = request;
    const isQuery = kind === 'query' || kind === 'paginatedQuery';
    const {
      path,
      args,
      format,
      version = false,
    } = isQuery ? decodeBody(queryBody, body) : {...decodeBody(callBody, body), version: false};
    const caller = await this.#caller(credentials);
    // A router repeats it for callers without an identity only, and without its version, which grows with every commit.
    const isCacheable = isForCache && caller === ANONYMOUS && !version;
    const call = {path, args, kind, origin: 'client', caller, format, hasVersion: version} as const;
    return isCacheable ? this.#answer(call, request) : {json: (await this.#answer(call, request)).json};
  }

  /** Runs any function, including internal ones, with any identity. @returns a FunctionReply as JSON */
  async run(request: Call): Promise<string> {
    const {path, args, identity, format} = decodeBody(runBody, request.body);
    const caller = {identity: identityOf(identity)};
    const call = {path, args, kind: null, origin: 'admin', caller, format, hasVersion: false} as const;
    return (await this.#answer(call, request)).json;
  }

  /** Any query, including internal ones, as any user. @throws op.invalid_input 400 */
  watched(body: Buffer): WatchedQuery {
    const {path, args, identity} = decodeBody(watchBody, body);
    const {kind, path: found} = refused(() => findFunction(this.#parts.writing()?.table ?? null, path, null, 'admin'));
    if (kind !== 'query' && kind !== 'paginatedQuery') {
      throw invalid(`only queries can be watched, and ${shownPath(found)} is of the kind ${kind}`);
    }
    return {kind, path: found, args: onlyArgument(args), identity: identityOf(identity)};
  }

  /** @param how `run_after` or `run_at`. @returns the job's id */
  async schedule(how: string, request: Call): Promise<string> {
    const {body, caller} = request;
    const {groups, writing, clock} = this.#parts;
    const {path, args, ...when} = scheduleRequest(how, body);
    const scheduledBy = ownerOf(caller, await this.#caller(caller));
    const origin = caller.isAdmin ? 'admin' : 'client';
    return await groups.perform(writer => {
      const table = writing()?.table ?? null;
      const nowMs = Math.floor(clock());
      return refused(() => {
        findFunction(table, path, null, origin);
        const job = checkedJob(table, {path, args: onlyArgument(args), ...when}, nowMs);
        return insertFunctionJob(writer, nowMs, job, {id: request.requestId, jobs: 1}, scheduledBy);
      });
    }, causeOf(request));
  }

  /** @throws op.not_found 404 unless this caller scheduled the job and it is pending; an admin can cancel any */
  async unschedule(id: string, request: Call): Promise<void> {
    const {caller} = request;
    const scheduledBy = ownerOf(caller, await this.#caller(caller));
    await this.#parts.groups.perform(
      writer => (scheduledBy === null ? cancelJob(writer, id) : cancelOwnJob(writer, id, scheduledBy)),
      causeOf(request),
    );
  }

  /** Holds no reference to the arguments while it waits. */
  #answer(
    call: {
      path: string;
      args: unknown;
      kind: FunctionKind | null;
      origin: 'client' | 'admin';
      caller: Caller;
      format: string | undefined;
      hasVersion: boolean;
    },
    {requestId, keyId, sessionId}: Pick<Call, 'requestId' | 'keyId' | 'sessionId'>,
  ): Promise<Reply> {
    const {path, args, kind, origin, caller, format, hasVersion} = call;
    const {functions, redactErrors, timeline} = this.#parts;
    const isRedacted = redactErrors && origin === 'client';
    const by = {key_id: keyId, session_id: sessionId};
    return functions
      .call({path, args: onlyArgument(args), kind, origin, caller, requestId, by, hasVersion})
      .then(result => {
        const json = functionReply(result, requestId, {isRedacted, format, timeline: hasVersion ? timeline : null});
        return result.ok && result.kept !== undefined ? {json, kept: result.kept} : {json};
      });
  }

  /** @throws auth.unauthorized 401 */
  async #caller({authorization, isAdmin}: Credentials): Promise<Caller> {
    if (authorization === null || isAdmin) return ANONYMOUS;
    const verified = await this.#parts.verifier().verifyHeader(authorization);
    return {identity: verified === null ? null : JSON.stringify(verified.identity)};
  }
}

/** The owner of a job. Null is the admin, which no other caller is, with or without a token. */
function ownerOf({isAdmin}: Credentials, caller: Caller): string | null {
  if (isAdmin) return null;
  assert(!('invalid' in caller), 'a token that is not valid is refused before');
  return caller.identity === null ? '' : (JSON.parse(caller.identity) as Identity).tokenIdentifier;
}

const ANONYMOUS: Caller = {identity: null};
const queryBody = bodyType<'functions.query'>(QueryCallBody);
const callBody = bodyType<'functions.mutation'>(FunctionCallBody);
const runBody = bodyType<'functions.run'>(FunctionRunBody);
const watchBody = bodyType<'functions.watch'>(FunctionWatchBody);
const runAfterBody = wireType(RunAfterBody);
const runAtBody = wireType(RunAtBody);

type ScheduleCall = {path: string; args?: unknown} & ({delayMs: number} | {runAtMs: number});

function scheduleRequest(how: string, body: Buffer): ScheduleCall {
  if (how === 'run_after') return decodeBody(runAfterBody, body);
  const {timestampMs, ...rest} = decodeBody(runAtBody, body);
  return {...rest, runAtMs: timestampMs};
}

/** Clients send the arguments as they are, or as the only element of an array. */
function onlyArgument(args: unknown): unknown {
  if (args === undefined) return {};
  return Array.isArray(args) && args.length === 1 ? args[0] : args;
}

/** @param identity of a body; absent and null: anonymous */
function identityOf(identity: unknown): string | null {
  return identity === undefined || identity === null ? null : actingAs(identity);
}

const ACTING_ISSUER = 'https://svc.invalid/run';
const ACTING_SUBJECT = 'nobody';

/**
 * An identity with the fields that functions rely on: those that identify the user are always present.
 * @throws op.invalid_input 400
 */
function actingAs(identity: unknown): string {
  if (typeof identity !== 'object' || identity === null || Array.isArray(identity)) {
    throw invalid('identity must be an object like {"subject": "ada", "name": "Ada"}');
  }
  const {issuer = ACTING_ISSUER, subject = ACTING_SUBJECT} = identity as Record<string, unknown>;
  const {tokenIdentifier = `${String(issuer)}|${String(subject)}`} = identity as Record<string, unknown>;
  for (const [name, value] of Object.entries({issuer, subject, tokenIdentifier})) {
    if (typeof value !== 'string') throw invalid(`identity.${name} must be a string`);
  }
  return JSON.stringify({...identity, issuer, subject, tokenIdentifier});
}

/** Turns a caller's mistake into a ServiceError, for operations without a function reply. */
function refused<T>(act: () => T): T {
  try {
    return act();
  } catch (caught) {
    if (!(caught instanceof CallError)) throw caught;
    throw invalid(caught.message);
  }
}
