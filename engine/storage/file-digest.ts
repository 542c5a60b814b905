/** The digest under which a file of a deployment is kept: each text ends in a zero byte, so that no two pairs read alike. */
import {createHash} from 'node:crypto';

/** SHA-256, hex. Of a file: its source and its source map, empty when it has none. */
export function digestOf(...texts: string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex');
}
