/** Makes a tenant's file from a repository, with its progress on stderr, and checks it before anything uses it. */
import {rm} from 'node:fs/promises';
import {RestoreError} from '../../copies/restore/restore-error.ts';
import {type Restored, type RestoreOptions, restoreFile} from '../../copies/restore/restore-file.ts';
import {type CheckDepth, checkFile} from '../../engine/verify/check-file.ts';
import {bytesText} from '../bytes-text.ts';
import {TransientLine} from '../transient-line.ts';

const FINDINGS_SHOWN = 5;

/** What to restore. */
export type Wanted = Pick<RestoreOptions, 'repository' | 'tenant' | 'target' | 'timeline'> & {depth: CheckDepth};

/** @throws RestoreError; RepositoryError; StoreError. There is no file at `path` then. */
export async function makeFile(options: Wanted & {path: string; isKept: boolean}): Promise<Restored> {
  const {tenant} = options;
  const line = new TransientLine();
  try {
    const restored = await restoreFile({
      ...options,
      onProgress: ({sets, setsTotal, bytes, bytesTotal}) =>
        line.show(`${tenant}: ${sets} of ${setsTotal} page sets, ${bytesText(bytes)} of ${bytesText(bytesTotal)}`),
    });
    line.show(`${tenant}: checking ${bytesText(restored.pages * restored.pageBytes)} …`);
    await checkRestored(options, restored);
    return restored;
  } finally {
    line.clear();
  }
}

/** Removes the file if it has faults. @throws RestoreError */
async function checkRestored({path, tenant, depth}: Wanted & {path: string}, restored: Restored): Promise<void> {
  const {checks} = checkFile(path, {tenant, point: restored}, depth);
  // Of the reader that checked it.
  for (const suffix of ['-wal', '-shm']) await rm(path + suffix, {force: true});
  const findings = checks.flatMap(check => check.findings);
  if (findings.length === 0) return;
  await rm(path, {force: true});
  const shown = findings.slice(0, FINDINGS_SHOWN).map(finding => `\n  ${finding}`);
  const more = findings.length > FINDINGS_SHOWN ? `\n  and ${findings.length - FINDINGS_SHOWN} more` : '';
  throw new RestoreError(
    'unsound',
    `the tenant's file of commit ${restored.commit} has faults, which it had when it was copied:${shown.join('')}${more}`,
  );
}
