/**
 * Locates the versions of Node that were installed from the npm registry: the package that `node@<version>` brings for
 * this machine.
 */
import {join} from 'node:path';
import type {NodeVersion} from './node-version.ts';

export function nodePackage(): string {
  const {platform, arch} = process;
  const prefix = platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node';
  return `${prefix}-${platform === 'win32' ? 'win' : platform}-${arch}`;
}

/** @param directory of all versions */
export function nodeHome(directory: string, version: NodeVersion): string {
  return join(directory, `${version}-${process.platform}-${process.arch}`);
}

/** The executable below a home. */
export function nodeExecutable(home: string): string {
  return join(home, 'node_modules', nodePackage(), 'bin/node');
}
