/**
 * Records on this machine which part of its input an import has seen, because the server counts lines but does not
 * recognise them. With the note, a file whose imported lines have changed is detected instead of being taken for the
 * earlier one.
 */
import {mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {IMPORT_KEEP_MS} from '../../shared/limits.ts';
import {stateDirectory} from '../state-directory.ts';
import type {SeenLines} from './import-run.ts';

/** @param name of the import, with its server and tenant. @returns null if there is no note */
export function seenLines(name: string): SeenLines | null {
  try {
    const note = JSON.parse(readFileSync(pathOf(name), 'utf8')) as Partial<SeenLines> | null;
    return Number.isSafeInteger(note?.lines) && typeof note?.sha256 === 'string' ? (note as SeenLines) : null;
  } catch {
    return null; // No note, or not one of ours: there is nothing to compare with.
  }
}

/** Also drops notes of imports that the server has forgotten. @throws if it cannot be written */
export function noteLines(name: string, seen: SeenLines): void {
  const directory = stateDirectory('imports');
  mkdirSync(directory, {recursive: true, mode: 0o700});
  const oldestMs = Date.now() - 2 * IMPORT_KEEP_MS;
  for (const each of readdirSync(directory)) {
    const path = join(directory, each);
    const found = statSync(path, {throwIfNoEntry: false});
    if (found !== undefined && found.mtimeMs < oldestMs) rmSync(path, {force: true});
  }
  const path = pathOf(name);
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(seen)}\n`, {mode: 0o600});
  renameSync(temporary, path);
}

function pathOf(name: string): string {
  return join(stateDirectory('imports'), `${name}.json`);
}
