/**
 * Stores a base in the log, and removes the records that no reader needs any more.
 *
 *   written ──Bases.put──▶ on the list ──▶ the log is trimmed below the older base ──▶ the file of the base is removed
 *
 * A process that ends at any step leaves a log that is read from one of the listed bases: a trim follows the list, and is
 * made up for by the next base.
 */
import {closeSync, openSync, rmSync} from 'node:fs';
import {sourceOfFile} from '../../engine/copies/bytes.ts';
import {BASES_KEPT} from '../limits.ts';
import type {StoredBase} from '../log/bases.ts';
import type {LogPosition} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {TenantName} from '../log/subjects.ts';

/** A base in a file, with the newest record that it contains. */
export type WrittenBase = {readonly path: string; readonly position: LogPosition; readonly openedBy: string};

/** The file is removed in any case. @throws LogError, EngineError */
export async function storeBase(
  replicated: Pick<ReplicatedLog, 'tenant' | 'bases'>,
  tenant: TenantName,
  {path, position, openedBy}: WrittenBase,
  signal?: AbortSignal,
): Promise<StoredBase['kind']> {
  const fd = openSync(path, 'r');
  try {
    const {kind} = await replicated.bases.put(tenant, {position, openedBy, file: sourceOfFile(fd)}, signal);
    if (kind === 'stored') await trimBelowBases(replicated, tenant);
    return kind;
  } finally {
    closeSync(fd);
    rmSync(path, {force: true});
  }
}

/** A log with fewer bases than stay keeps all records: a damaged base can be replaced by reading them. */
async function trimBelowBases(replicated: Pick<ReplicatedLog, 'tenant' | 'bases'>, tenant: TenantName): Promise<void> {
  const [older, ...newer] = await replicated.bases.list(tenant);
  if (older === undefined || newer.length < BASES_KEPT - 1) return;
  await replicated.tenant(tenant).trim(older.position);
}
