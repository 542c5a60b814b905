/** The project's own files in a bundle, as they are written: they are sent with it, for people to read and compare. */
import {Buffer} from 'node:buffer';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {BUNDLE_PATH_CHARS_MAX, DEPLOYMENT_SOURCES_BYTES_MAX} from '../../shared/limits.ts';
import type {SourceFile} from '../../shared/protocol/functions.ts';

/** @param paths relative to the project's root. @returns null when they are too large to be sent */
export async function originalSources(root: string, paths: readonly string[]): Promise<SourceFile[] | null> {
  const named = paths.filter(path => path.length <= BUNDLE_PATH_CHARS_MAX).sort();
  const files: SourceFile[] = [];
  let bytes = 0;
  for (const path of named) {
    const text = await readFile(join(root, path), 'utf8').catch(() => null); // deleted since it was bundled
    if (text === null) continue;
    bytes += Buffer.byteLength(text);
    if (bytes > DEPLOYMENT_SOURCES_BYTES_MAX) return null;
    files.push({path, text});
  }
  return files;
}
