import type {Buffer} from 'node:buffer';
import {createHash, hash} from 'node:crypto';

/** The digest that chains a record to the one before. @param record its text, or the bytes of that text */
export function recordDigest(previous: string, record: string | Buffer): string {
  if (typeof record === 'string') return hash('sha256', `${previous}\n${record}`);
  return createHash('sha256').update(`${previous}\n`).update(record).digest('hex');
}

/** A record in the form that clients and followers see: the stored JSON with its digest as the last field. */
export function sealedRecord(record: string, digest: string): string {
  return `${record.slice(0, -1)},"integrity_sha256":"${digest}"}`;
}
