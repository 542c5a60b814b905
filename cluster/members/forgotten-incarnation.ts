/**
 * The highest incarnation that a forgotten host has had. A host that joins again goes on above it, because logs can still name
 * the earlier ones: nothing may take those for the present one, or wait for one that never comes.
 */
import {LogError} from '../log/log-error.ts';
import type {SetDecision, SmallRecord, SmallRecords} from '../log/small-records.ts';

/** As decimal digits. One for all hosts, so that forgotten ones leave nothing. */
const FORGOTTEN_KEY = 'counter.incarnation';

/** 0: no host was forgotten. @throws LogError, EngineError */
export async function forgottenIncarnation(records: SmallRecords): Promise<number> {
  return numberIn(await records.get(FORGOTTEN_KEY));
}

/** @throws LogError, EngineError */
export async function noteForgotten(
  records: SmallRecords,
  incarnation: number,
  signal: AbortSignal,
): Promise<Exclude<SetDecision['kind'], 'conflict'>> {
  for (;;) {
    const before = await records.get(FORGOTTEN_KEY);
    if (numberIn(before) >= incarnation) return 'stored';
    const value = Buffer.from(String(incarnation));
    const set = await records.set(FORGOTTEN_KEY, value, before?.revision ?? 0, signal);
    const {kind} = set.kind === 'unknown' ? await set.decided : set;
    if (kind !== 'conflict') return kind;
  }
}

function numberIn(record: SmallRecord | null): number {
  const text = record?.value?.toString() ?? '0';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new LogError('damaged', 'the record of forgotten hosts has no number');
}
