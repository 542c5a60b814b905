/**
 * Builds the metadata of a `request` frame. The text is concatenated by hand, because it is built for every request.
 */
import type {Operation} from '../../shared/operations.ts';
import type {Scope} from '../../shared/rights.ts';
import {quotedText} from '../../shared/values/quoted-text.ts';

/**
 * @param parameters of the path, decoded, without the tenant
 * @param query the raw query string; empty if there is none or the operation takes none
 * @param idempotencyKey empty if there is none or the operation is a read
 * @param contentType empty if there is none or the operation takes bodies of one type
 * @param ifMatch,ifNoneMatch empty if there is none or the operation takes no conditions
 * @param lastEventId empty if there is none or the operation does not resume from one
 */
export function requestMeta(
  operation: Operation,
  parameters: readonly string[],
  query: string,
  idempotencyKey: string,
  requestId: string,
  ifMatch = '',
  ifNoneMatch = '',
  lastEventId = '',
  contentType = '',
): string {
  let meta = `{"op":"${operation}"`;
  for (let i = 0; i < parameters.length; i++) meta += `${i === 0 ? ',"p":[' : ','}${quotedText(parameters[i]!)}`;
  if (parameters.length > 0) meta += ']';
  if (query !== '') meta += `,"q":${quotedText(query)}`;
  if (idempotencyKey !== '') meta += `,"k":${quotedText(idempotencyKey)}`;
  if (ifMatch !== '') meta += `,"im":${quotedText(ifMatch)}`;
  if (ifNoneMatch !== '') meta += `,"nm":${quotedText(ifNoneMatch)}`;
  if (lastEventId !== '') meta += `,"le":${quotedText(lastEventId)}`;
  if (contentType !== '') meta += `,"ct":${quotedText(contentType)}`;
  return `${meta},"r":${quotedText(requestId)}}`;
}

/** Adds the tables that the key is limited to. */
export function limitedMeta(meta: string, tables: readonly string[]): string {
  return `${meta.slice(0, -1)},"t":${JSON.stringify(tables)}}`;
}

/** Adds the family of the key that sent an `Idempotency-Key`. */
export function ownedMeta(meta: string, family: string): string {
  return `${meta.slice(0, -1)},"f":${quotedText(family)}}`;
}

/** Adds a scope that the key lacks. */
export function lackingMeta(meta: string, scope: Scope): string {
  return `${meta.slice(0, -1)},"n":"${scope}"}`;
}

/** Adds the signed grant that marks the body as an operator's. */
export function metaWithGrant(meta: string, signedGrant: string): string {
  return `${meta.slice(0, -1)},"v":"${signedGrant}"}`;
}
