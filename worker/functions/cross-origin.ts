/** CORS headers for operations that browser pages can call; error responses carry them too. */
import {corsHeaders} from '../../shared/ipc/cors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {traitsOf} from '../../shared/operations.ts';
import type {Request} from '../ipc/decode.ts';

/**
 * Headers that let a page read the response to this request.
 * @param allowed null: any origin; called only for operations that pages can call
 */
export function crossOriginHeaders(
  {op, origin}: Pick<Request, 'op' | 'origin'>,
  allowed: () => readonly string[] | null,
): HeaderList | null {
  return traitsOf(op).hasCors === true ? corsHeaders(origin ?? undefined, allowed()) : null;
}
