/** CORS of what pages in a browser may call: their answers carry its headers, errors included. */
import {corsHeaders} from '../../shared/ipc/cors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {traitsOf} from '../../shared/operations.ts';
import type {Request} from '../ipc/decode.ts';

/**
 * Headers that an answer to this request carries so that a page may read it.
 * @param allowed null: any origin; asked only where it matters
 */
export function crossOriginHeaders(
  {op, origin}: Pick<Request, 'op' | 'origin'>,
  allowed: () => readonly string[] | null,
): HeaderList | null {
  return traitsOf(op).hasCors === true ? corsHeaders(origin ?? undefined, allowed()) : null;
}
