/** A project of a test: sources given as text, in a directory that is gone when the test is. */
import {mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {onTestFinished} from 'vitest';
import {ProjectFailure} from '../../../cli/project/project-failure.ts';
import {type Project, readProject} from '../../../cli/project/project-file.ts';
import type {DeploymentError} from '../../../shared/protocol/functions.ts';

/** @param files relative to the project, path → source */
export function projectDirectory(files: Record<string, string>): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'svc-project-')));
  onTestFinished(() => rmSync(directory, {recursive: true}));
  writeFiles(directory, files);
  return directory;
}

export function writeFiles(directory: string, files: Record<string, string>): void {
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), {recursive: true});
    writeFileSync(join(directory, path), source);
  }
}

/** @param files below `svc/` */
export function projectOf(files: Record<string, string>): Promise<Project> {
  return readProject(projectDirectory(inFunctions(files)));
}

export function inFunctions(files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, source]) => [`svc/${path}`, source]));
}

/** What is said to be wrong; fails when nothing is. */
export async function errorsOf(action: Promise<unknown>): Promise<readonly DeploymentError[]> {
  try {
    await action;
  } catch (caught) {
    if (caught instanceof ProjectFailure) return caught.errors;
    throw caught;
  }
  throw new Error('nothing was wrong');
}
