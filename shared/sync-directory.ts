import {open} from 'node:fs/promises';

/** Makes files that were created, renamed or removed in the directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
