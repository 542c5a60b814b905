/** A disk that a test can fill: a tmpfs of its own, which only root may mount. */
import {spawnSync} from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export class SmallDisk {
  readonly #directory = mkdtempSync(join(tmpdir(), 'svc-test-disk-'));
  readonly path = join(this.#directory, 'disk');
  readonly #filler = join(this.path, 'filler');
  /** False: this machine does not let us mount it. */
  readonly isMounted: boolean;

  constructor(mebibytes: number, inodes = 0) {
    mkdirSync(this.path);
    const options = `size=${mebibytes}m,nr_inodes=${inodes}`;
    this.isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', this.path]).status === 0;
  }

  /** Takes all inodes that are left. */
  fillInodes(): void {
    for (let n = 0; ; n++) {
      try {
        writeFileSync(join(this.path, `inode-${n}`), '', {flag: 'wx'});
      } catch (caught) {
        if ((caught as NodeJS.ErrnoException).code !== 'ENOSPC') throw caught;
        return;
      }
    }
  }

  /** Takes all space that is left, but for so many bytes. */
  fill(leftBytes = 0): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (let bytes = 1 << 20; bytes >= 1; ) {
        try {
          writeSync(file, Buffer.alloc(bytes));
        } catch (caught) {
          if ((caught as NodeJS.ErrnoException).code !== 'ENOSPC') throw caught;
          bytes >>= 1;
        }
      }
    } finally {
      closeSync(file);
    }
    if (leftBytes > 0) truncateSync(this.#filler, statSync(this.#filler).size - leftBytes);
  }

  makeSpace(): void {
    rmSync(this.#filler, {force: true});
  }

  remove(): void {
    this.makeSpace();
    if (this.isMounted) spawnSync('umount', [this.path]);
    rmSync(this.#directory, {recursive: true});
  }
}
