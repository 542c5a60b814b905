/**
 * The digest that identifies a stored file of a deployment: each text ends in a zero byte, so that no two pairs give
 * the same input.
 */
import {createHash} from 'node:crypto';

/** SHA-256, hex, of a file's source and its source map, which is empty if it has none. */
export function digestOf(...texts: string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex');
}
