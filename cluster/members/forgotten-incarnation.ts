/**
 * The highest incarnation that a forgotten host has had. A host that joins again goes on above it, because logs can still name
 * the earlier ones: nothing may take those for the present one, or wait for one that never comes.
 */
import type {SetDecision, SmallRecords} from '../log/small-records.ts';

/** As decimal digits. One for all hosts, so that forgotten ones leave nothing. */
const FORGOTTEN_KEY = 'counter.incarnation';

/** 0: no host was forgotten. @throws EngineError */
export async function forgottenIncarnation(records: SmallRecords): Promise<number> {
  return Number((await records.get(FORGOTTEN_KEY))?.value?.toString() ?? '0');
}

/** @throws EngineError */
export async function noteForgotten(
  records: SmallRecords,
  incarnation: number,
  signal: AbortSignal,
): Promise<Exclude<SetDecision['kind'], 'conflict'>> {
  for (;;) {
    const before = await records.get(FORGOTTEN_KEY);
    if (Number(before?.value?.toString() ?? '0') >= incarnation) return 'stored';
    const value = Buffer.from(String(incarnation));
    const set = await records.set(FORGOTTEN_KEY, value, before?.revision ?? 0, signal);
    const {kind} = set.kind === 'unknown' ? await set.decided : set;
    if (kind !== 'conflict') return kind;
  }
}
