/** A copy of a build whose workers have a disk that takes SYNC_MS longer for each sync of the log. */
import {cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';

export const SYNC_MS = 5;

/** Replaces the functions before the worker's modules run; the pool's thread is not held up, and that of the worker is. */
const DELAY = `import fs from 'node:fs';
import {syncBuiltinESMExports} from 'node:module';
const {fdatasync, fdatasyncSync} = fs;
fs.fdatasync = (fd, done) => fdatasync(fd, error => setTimeout(done, ${SYNC_MS}, error));
fs.fdatasyncSync = fd => {
  fdatasyncSync(fd);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${SYNC_MS});
};
syncBuiltinESMExports();
`;

/** @param cli of the build @returns that of the copy */
export function slowDiskBuild(cli: string, directory: string): string {
  const dist = dirname(cli);
  const copy = join(directory, 'dist');
  if (existsSync(copy)) return join(copy, 'cli.js');
  mkdirSync(directory, {recursive: true});
  cpSync(dist, copy, {recursive: true});
  for (const beside of ['node_modules', 'package.json']) {
    symlinkSync(join(dist, '..', beside), join(directory, beside));
  }
  writeFileSync(join(copy, 'slow-disk.mjs'), DELAY);
  const worker = join(copy, 'worker.js');
  writeFileSync(worker, `import './slow-disk.mjs';${readFileSync(worker, 'utf8')}`);
  return join(copy, 'cli.js');
}
