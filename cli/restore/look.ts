/** Restores into a scratch directory, to check a copy or to read a table of it. */
import {join} from 'node:path';
import {tableLines} from '../../copies/restore/file-contents.ts';
import type {Restored} from '../../copies/restore/restore-file.ts';
import {openOutput, ReaderGone} from '../transfer/output.ts';
import {makeFile, type Wanted} from './make-file.ts';
import {withScratch} from './scratch.ts';

/** `scratch`: a directory in which one for this process is made. */
export type Looked = Wanted & {scratch: string};

/** Calls `use` with a checked file, which is removed afterwards. @throws as `makeFile` */
export function withFile<T>(
  {scratch, ...wanted}: Looked,
  use: (path: string, restored: Restored) => T | Promise<T>,
): Promise<T> {
  return withScratch(scratch, async directory => {
    const path = join(directory, 'tenant.sqlite');
    return use(path, await makeFile({...wanted, path, isKept: false}));
  });
}

/** Prints the documents of a table as JSON lines. @returns null: the reader wanted no more of them */
export async function printTable(wanted: Looked, table: string): Promise<Restored | null> {
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
