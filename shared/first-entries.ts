import {opendirSync} from 'node:fs';

/** The first entries of a directory, which may have millions. @param encoding `latin1` keeps the bytes of names that are not UTF-8 */
export function firstEntries(directory: string, most: number, encoding: BufferEncoding = 'utf8'): string[] {
  const names: string[] = [];
  const open = opendirSync(directory, {encoding});
  try {
    while (names.length < most) {
      const entry = open.readSync();
      if (entry === null) break;
      names.push(entry.name);
    }
  } finally {
    open.closeSync();
  }
  return names;
}
