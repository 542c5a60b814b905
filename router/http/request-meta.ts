/** Writes the meta of a `request` frame. It is text joined by hand because it is made for every request. */
import type {Operation} from '../../shared/operations.ts';

/**
 * @param parameters of the path, decoded, without the tenant
 * @param query the raw query string; empty when there is none or the operation takes none
 * @param idempotencyKey empty when there is none or the operation is a read
 */
export function requestMeta(
  operation: Operation,
  parameters: readonly string[],
  query: string,
  idempotencyKey: string,
  requestId: string,
): string {
  let meta = `{"op":"${operation}"`;
  if (parameters.length > 0) meta += `,"p":${JSON.stringify(parameters)}`;
  if (query !== '') meta += `,"q":${JSON.stringify(query)}`;
  if (idempotencyKey !== '') meta += `,"k":${JSON.stringify(idempotencyKey)}`;
  return `${meta},"r":${JSON.stringify(requestId)}}`;
}
