/** Parses the `Authorization` header of a request to a deployment. */
import {rejected} from './rejected.ts';

/**
 * The token of `Bearer <token>`, or null without a header (an anonymous caller).
 * @throws ServiceError auth.unauthorized for any other header. HTTP actions accept those and raise the error only if
 *   the action asks for the identity.
 */
export function parseBearer(authorization: string | null | undefined): {token: string} | null {
  if (authorization === null || authorization === undefined || authorization === '') return null;
  const token = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
  if (token === undefined) {
    throw rejected('InvalidAuthHeader', 'The Authorization header must begin with `Bearer ` and hold one token');
  }
  return {token};
}
