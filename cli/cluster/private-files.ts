/** Writes files for this user alone, each whole or not at all. */
import {closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {dirname} from 'node:path';

const PRIVATE_FILE = 0o600;

/** Replaces what is there. */
export function writeWhole(path: string, text: string): void {
  const partial = `${path}.partial`;
  rmSync(partial, {force: true});
  const file = openSync(partial, 'wx', PRIVATE_FILE);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(partial, path);
  syncDirectory(dirname(path));
}

/** @param mode of the directory: others can at most pass through it */
export function makeDirectory(path: string, mode: 0o700 | 0o711 = 0o700): void {
  mkdirSync(path, {recursive: true, mode});
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
