/** Writes the meta of a `request` frame. It is text joined by hand because it is made for every request. */
import type {Operation} from '../../shared/operations.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const TILDE = 0x7e;

/**
 * @param parameters of the path, decoded, without the tenant
 * @param query the raw query string; empty when there is none or the operation takes none
 * @param idempotencyKey empty when there is none or the operation is a read
 * @param ifMatch,ifNoneMatch empty when there is none or the operation takes no conditions
 */
export function requestMeta(
  operation: Operation,
  parameters: readonly string[],
  query: string,
  idempotencyKey: string,
  requestId: string,
  ifMatch = '',
  ifNoneMatch = '',
): string {
  let meta = `{"op":"${operation}"`;
  for (let i = 0; i < parameters.length; i++) meta += `${i === 0 ? ',"p":[' : ','}${quoted(parameters[i]!)}`;
  if (parameters.length > 0) meta += ']';
  if (query !== '') meta += `,"q":${quoted(query)}`;
  if (idempotencyKey !== '') meta += `,"k":${quoted(idempotencyKey)}`;
  if (ifMatch !== '') meta += `,"im":${quoted(ifMatch)}`;
  if (ifNoneMatch !== '') meta += `,"nm":${quoted(ifNoneMatch)}`;
  return `${meta},"r":${quoted(requestId)}}`;
}

/** A text as JSON. Most need no escape, and a look at each of so few characters costs less than a call into the engine. */
function quoted(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < SPACE || unit > TILDE || unit === QUOTE || unit === BACKSLASH) return JSON.stringify(text);
  }
  return `"${text}"`;
}

/** The same with an operator's word for the body. */
export function vouchedMeta(meta: string, voucher: string): string {
  return `${meta.slice(0, -1)},"v":"${voucher}"}`;
}
