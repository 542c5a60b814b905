/** The data directories that servers of every storage version left behind (`make-fixture.ts` makes them). */
import {execFileSync} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {brotliDecompressSync} from 'node:zlib';

const FIXTURES = fileURLToPath(new URL('./fixtures', import.meta.url));

/** Storage versions, oldest first. */
export function fixtureVersions(): number[] {
  return readdirSync(FIXTURES)
    .map(name => Number(name.slice(0, 2)))
    .sort((a, b) => a - b);
}

/** Unpacks the data directory of that version into `to`. @param part only this file or directory of it */
export function unpackFixture(version: number, to: string, part = '.'): string {
  mkdirSync(to, {recursive: true});
  const tar = brotliDecompressSync(readFileSync(join(FIXTURES, `${numberOf(version)}.tar.br`)));
  execFileSync('tar', ['-x', '--no-same-owner', '-C', to, part === '.' ? part : `./${part}`], {input: tar});
  return to;
}

/** As in the names of its tenants. */
export function numberOf(version: number): string {
  return String(version).padStart(2, '0');
}
