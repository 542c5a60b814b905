/**
 * Builds the metadata of a `request` frame: what a worker learns about a request in addition to its body. The text of a
 * native operation is concatenated by hand, because it is built for every request.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {HOP_BY_HOP} from '../../shared/http-headers.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {FRAME_META_BYTES_MAX} from '../../shared/limits.ts';
import type {Operation} from '../../shared/operations.ts';
import type {Scope} from '../../shared/rights.ts';
import {quotedText} from '../../shared/values/canonical-json.ts';
import {keyOf, type Principal, sessionIdOf} from '../auth/credentials.ts';
import type {Route} from '../routes.ts';
import {listOf} from './forwarded-header.ts';

/** A request for a native operation. Empty texts: missing, or the operation does not take them. */
export type NativeRequest = {
  readonly operation: Operation;
  /** Of the path, decoded, without the tenant. */
  readonly parameters: readonly string[];
  /** The raw query string. */
  readonly query: string;
  readonly idempotencyKey: string;
  /** The family of the key that sent the `Idempotency-Key`. */
  readonly family: string;
  readonly conditions: Conditions;
  /** The answer is to be cached, if the worker allows. */
  readonly isForCache: boolean;
  readonly lastEventId: string;
  readonly contentType: string;
  readonly requestId: string;
  /** Of the key that sends a write, and of its session. */
  readonly keyId: string;
  readonly sessionId: string;
  /** The tables by which the worker must judge the body; null: nothing is left to judge. */
  readonly tables: readonly string[] | null;
  /** A scope that the key lacks; null: nothing is left to judge. */
  readonly lacking: Scope | null;
};

/** Values of `If-Match` and `If-None-Match`; empty: missing. */
type Conditions = {readonly ifMatch: string; readonly ifNoneMatch: string};

export function requestMeta(request: NativeRequest): string {
  const {parameters, query, idempotencyKey, family, conditions, lastEventId, contentType, tables, lacking} = request;
  const {keyId, sessionId, isForCache} = request;
  let meta = `{"op":"${request.operation}"`;
  for (let i = 0; i < parameters.length; i++) meta += `${i === 0 ? ',"p":[' : ','}${quotedText(parameters[i]!)}`;
  if (parameters.length > 0) meta += ']';
  if (query !== '') meta += `,"q":${quotedText(query)}`;
  if (idempotencyKey !== '') meta += `,"k":${quotedText(idempotencyKey)}`;
  if (family !== '') meta += `,"f":${quotedText(family)}`;
  if (conditions.ifMatch !== '') meta += `,"im":${quotedText(conditions.ifMatch)}`;
  if (conditions.ifNoneMatch !== '') meta += `,"nm":${quotedText(conditions.ifNoneMatch)}`;
  if (isForCache) meta += ',"ch":1';
  if (lastEventId !== '') meta += `,"le":${quotedText(lastEventId)}`;
  if (contentType !== '') meta += `,"ct":${quotedText(contentType)}`;
  if (tables !== null) meta += `,"t":${JSON.stringify(tables)}`;
  if (keyId !== '') meta += `,"b":${quotedText(keyId)}`;
  if (sessionId !== '') meta += `,"d":${quotedText(sessionId)}`;
  if (lacking !== null) meta += `,"n":"${lacking}"`;
  return `${meta},"r":${quotedText(request.requestId)}}`;
}

/** The credential of a write, for the journal. Empty: an admin credential; no session. */
export function holderIds(principal: Principal): {readonly keyId: string; readonly sessionId: string} {
  return principal === null ? ADMIN : {keyId: keyOf(principal)?.id ?? '', sessionId: sessionIdOf(principal) ?? ''};
}

const ADMIN = {keyId: '', sessionId: ''};

/** Adds the signed grant that marks the body as an operator's; made once the body is known. */
export function metaWithGrant(meta: string, signedGrant: string): string {
  return `${meta.slice(0, -1)},"v":"${signedGrant}"}`;
}

/* ── conditions ── */

const NONE: Conditions = {ifMatch: '', ifNoneMatch: ''};

/**
 * A condition that nothing evaluates is refused, because the client relies on it.
 * @throws op.invalid_input 400
 */
export function conditionsOf(
  req: HttpRequest,
  {takesConditions, refusesConditions, isRead}: Pick<Route, 'takesConditions' | 'refusesConditions' | 'isRead'>,
): Conditions {
  if (!takesConditions) {
    if (refusesConditions && (req.getHeader('if-match') !== '' || req.getHeader('if-none-match') !== '')) {
      throw new ServiceError('op.invalid_input', OF_INSERT);
    }
    return NONE;
  }
  if (!isRead) return {ifMatch: allLines(req, 'if-match'), ifNoneMatch: allLines(req, 'if-none-match')};
  if (req.getHeader('if-match') !== '') throw new ServiceError('op.invalid_input', OF_READ);
  return {ifMatch: '', ifNoneMatch: allLines(req, 'if-none-match')};
}

const JUDGED = 'PUT, PATCH and DELETE of a document, and POST …/upsert';
const OF_INSERT = `POST …/documents always makes a new document: If-Match and If-None-Match are judged by ${JUDGED}; to make one only if its id is free, PUT it with If-None-Match: *`;
const OF_READ = `a read judges If-None-Match alone; If-Match is judged by ${JUDGED}`;

/**
 * Joins lines of the same name into one list (RFC 9110, 5.3). All headers are read only if the request has such a
 * header, and most have none.
 */
function allLines(req: HttpRequest, header: string): string {
  return req.getHeader(header) === '' ? '' : listOf(req, header);
}

/* ── requests to a deployment ── */

/** Headers of one connection instead of the message, and our own credential, which the app must not see. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'expect', 'x-svc-admin-token']);
const ASCII = /^[\x00-\x7f]*$/;

/**
 * A request to a deployment (`/svc/…`): what its worker needs to identify the caller, and for an HTTP action everything
 * that its Request consists of.
 * @param parameters of the path, as the operation expects them
 * @param admin undefined: the request has no admin token
 * @param url of an HTTP action
 */
export function deploymentMeta(
  operation: Operation,
  parameters: string[],
  requestId: string,
  admin: Principal | undefined,
  req: HttpRequest,
  url: string,
): string {
  const meta: RequestMeta = {op: operation, r: requestId};
  if (parameters.length > 0) meta.p = parameters;
  const authorization = req.getHeader('authorization');
  if (authorization !== '') meta.a = authorization;
  if (admin !== undefined) addHolder(meta, admin);
  const origin = req.getHeader('origin');
  if (origin !== '') meta.o = origin;
  if (operation === 'functions.http') {
    meta.m = req.getCaseSensitiveMethod();
    meta.u = url;
    meta.h = passedOn(req);
  }
  return boundedText(meta);
}

/**
 * The same for a call of a query function without an identity.
 * @param origin of its page; empty: none
 * @param isForCache the answer is to be cached, if the worker allows
 */
export function anonymousMeta(
  operation: Operation,
  requestId: string,
  admin: Principal | undefined,
  origin: string,
  isForCache: boolean,
): string {
  const meta: RequestMeta = {op: operation, r: requestId};
  if (admin !== undefined) addHolder(meta, admin);
  if (origin !== '') meta.o = origin;
  if (isForCache) meta.ch = 1;
  return boundedText(meta);
}

function addHolder(meta: RequestMeta, admin: Principal): void {
  const {keyId, sessionId} = holderIds(admin);
  meta.w = 1;
  if (keyId !== '') meta.b = keyId;
  if (sessionId !== '') meta.d = sessionId;
}

/** @throws op.invalid_input 400 */
function boundedText(meta: RequestMeta): string {
  const text = JSON.stringify(meta);
  // Escaped text is longer than the original; only unusual headers come near this limit.
  if (Buffer.byteLength(text) > FRAME_META_BYTES_MAX) {
    throw new ServiceError('op.invalid_input', 'the headers hold too many characters that need escaping');
  }
  return text;
}

/**
 * Decodes a value as Latin-1, which is what an app expects. `forEach` decodes UTF-8; `getHeader` does not, but returns
 * only the first header of a name.
 */
function latin1(req: HttpRequest, before: [string, string][], name: string, value: string): string {
  const isFirst = !before.some(([known]) => known === name);
  return isFirst ? req.getHeader(name) : Buffer.from(value).toString('latin1');
}

function passedOn(req: HttpRequest): [string, string][] {
  const named = new Set(
    req
      .getHeader('connection')
      .split(',')
      .map(name => name.trim().toLowerCase()),
  );
  const headers: [string, string][] = [];
  req.forEach((name, value) => {
    if (!NOT_PASSED_ON.has(name) && !named.has(name))
      headers.push([name, ASCII.test(value) ? value : latin1(req, headers, name, value)]);
  });
  return headers;
}
