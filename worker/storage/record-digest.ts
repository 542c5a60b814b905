import {createHash} from 'node:crypto';

/** The digest that chains a record to the one before. */
export function recordDigest(previous: string, record: string): string {
  return createHash('sha256').update(previous).update('\n').update(record).digest('hex');
}
