import {hash} from 'node:crypto';

/** The digest that chains a record to the one before. */
export function recordDigest(previous: string, record: string): string {
  return hash('sha256', `${previous}\n${record}`);
}

/** A record as clients and followers see it: the stored JSON with its digest as the last field. */
export function sealedRecord(record: string, digest: string): string {
  return `${record.slice(0, -1)},"integrity_sha256":"${digest}"}`;
}
