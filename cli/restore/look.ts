/** Restores into a scratch directory, to check a copy or to read a table of it. */
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {tableLines} from '../../copies/restore/file-contents.ts';
import type {Restored} from '../../copies/restore/restore-file.ts';
import {openOutput, ReaderGone} from '../transfer/output.ts';
import {makeFile, type Wanted} from './make-file.ts';
import {withScratch} from './scratch.ts';

/** Calls `use` with a checked file, which is removed afterwards. @throws as `makeFile` */
export function withFile<T>(wanted: Wanted, use: (path: string, restored: Restored) => T | Promise<T>): Promise<T> {
  return withScratch(tmpdir(), async directory => {
    const path = join(directory, 'tenant.sqlite');
    return use(path, await makeFile({...wanted, path}));
  });
}

/** Prints the documents of a table as JSON lines. @returns null: the reader wanted no more of them */
export async function printTable(wanted: Wanted, table: string): Promise<Restored | null> {
  const output = await openOutput('-');
  try {
    const printed = await withFile(wanted, async (path, restored) => {
      for (const lines of tableLines(path, table)) await output.write(Buffer.from(lines));
      return restored;
    });
    await output.finish();
    return printed;
  } catch (caught) {
    await output.abandon();
    if (!(caught instanceof ReaderGone)) throw caught;
    return null;
  }
}
