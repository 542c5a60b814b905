/** Removes the entry of a host that will not come back. One that is alive stays. */
import {MEMBER_SILENT_MS} from '../limits.ts';
import type {SmallRecords} from '../log/small-records.ts';
import {noteForgotten} from './forgotten-incarnation.ts';
import {decodeMember, memberKey} from './member-record.ts';
import {Members, type MembersOptions} from './members.ts';

export type Forgotten = 'forgotten' | 'alive' | 'unknown' | 'full' | 'abandoned';

/**
 * A host that is silent is waited for until its lease is over. If it starts again, it joins above its last incarnation.
 * @throws LogError, EngineError
 */
export async function forgetHost(
  records: SmallRecords,
  host: string,
  options: Omit<MembersOptions, 'records'>,
  signal: AbortSignal,
): Promise<Forgotten> {
  const end = new AbortController();
  const ended = AbortSignal.any([signal, end.signal]);
  const members = new Members({records, ...options});
  const watching = members.watch(ended);
  try {
    for (;;) {
      const found = await records.get(memberKey(host));
      if (found === null || found.value === null) return 'unknown';
      const {incarnation} = decodeMember(host, found.value);
      const outcome = await members.outcomeOf(host, incarnation, ended, MEMBER_SILENT_MS);
      if (outcome !== 'ended') return outcome;
      const newest = await records.get(memberKey(host));
      if (newest === null || newest.value === null) return 'unknown';
      // It has joined again meanwhile.
      if (decodeMember(host, newest.value).incarnation !== incarnation) continue;
      const noted = await noteForgotten(records, incarnation, ended);
      if (noted !== 'stored') return noted;
      const set = await records.set(memberKey(host), null, newest.revision, ended);
      const decision = set.kind === 'unknown' ? await set.decided : set;
      if (decision.kind === 'stored') return 'forgotten';
      if (decision.kind !== 'conflict') return decision.kind;
    }
  } finally {
    end.abort();
    await watching;
  }
}
