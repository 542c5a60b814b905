/** The `Authorization` header of a deployment's request. */
import {rejected} from './rejected.ts';

/**
 * The token of `Bearer <token>`; null when there is no header: an anonymous caller.
 * @throws ServiceError auth.unauthorized for any other header. HTTP actions let those through and use the error only if
 *   the action asks who called.
 */
export function parseBearer(authorization: string | null | undefined): {token: string} | null {
  if (authorization === null || authorization === undefined || authorization === '') return null;
  const token = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
  if (token === undefined) {
    throw rejected('InvalidAuthHeader', 'The Authorization header must begin with `Bearer ` and hold one token');
  }
  return {token};
}
