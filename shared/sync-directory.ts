import {open} from 'node:fs/promises';

/** Makes what was created, renamed or removed in it durable. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
