import {FIRST_PREVIOUS_DIGEST} from '../../shared/journal-chain.ts';
import {storageDamaged} from '../storage/damage.ts';
import {recordDigest} from '../storage/record-digest.ts';
import type {Statements} from '../storage/statements.ts';

/** The newest record, to which the next one is chained. */
export type JournalHead = {sequence: number; digest: string; timestamp: number};

/** @throws op.storage_damaged 503: no record may be chained to a damaged one */
export function readJournalHead({journalHead, journalDigest, meta}: Statements): JournalHead {
  const last = journalHead.get();
  if (last === undefined) return {sequence: 0, digest: FIRST_PREVIOUS_DIGEST, timestamp: 0};
  const {sequence, record, digest} = last;
  const previous =
    sequence === meta.get('journal_floor')
      ? (meta.get('floor_previous_digest') ?? FIRST_PREVIOUS_DIGEST)
      : journalDigest.get(sequence - 1);
  if (previous === undefined || recordDigest(String(previous), String(record)) !== digest)
    throw storageDamaged({check: 'chain', sequence});
  const said = JSON.parse(record) as {sequence: number; timestamp: number};
  if (said.sequence !== sequence) throw storageDamaged({check: 'chain', sequence});
  return {sequence, digest, timestamp: said.timestamp};
}
