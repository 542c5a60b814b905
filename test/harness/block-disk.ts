/**
 * An ext4 file system on a block device that a test can break: a loop device on a sparse image in a small tmpfs. Blocks that the image
 * does not have yet cannot be written while the tmpfs is full, as on a thin volume without space. Only root can mount it.
 */
import {spawnSync} from 'node:child_process';
import {copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import {SmallDisk} from './small-disk.ts';

const IMAGE_BYTES = 64 << 20;
const STORE_MEBIBYTES = 72;

/** An image of a file system, mounted at `path`. */
export class MountedImage {
  readonly path = mkdtempSync(join(tmpdir(), 'svc-test-image-'));
  readonly isMounted: boolean;

  constructor(image: string, options: string[] = []) {
    this.isMounted = spawnSync('mount', ['-o', ['loop', ...options].join(','), image, this.path]).status === 0;
  }

  remove(): void {
    if (this.isMounted) spawnSync('umount', [this.path]);
    rmSync(this.path, {recursive: true});
  }
}

export class BlockDisk {
  readonly #store = new SmallDisk(STORE_MEBIBYTES);
  readonly #image = join(this.#store.path, 'image');
  readonly #mounted: MountedImage;

  /**
   * @param form.hasJournal without one, ext4 goes on after a write that failed
   * @param form.options of the mount
   */
  constructor({hasJournal, options = []}: {hasJournal: boolean; options?: string[]}) {
    writeFileSync(this.#image, '');
    truncateSync(this.#image, IMAGE_BYTES);
    const features = `${hasJournal ? '' : '^'}has_journal,^uninit_bg,^metadata_csum`;
    spawnSync('mkfs.ext4', ['-q', '-F', '-O', features, '-E', 'nodiscard', this.#image]);
    this.#mounted = new MountedImage(this.#image, options);
  }

  /** False: this machine does not let us mount it. */
  get isMounted(): boolean {
    return this.#store.isMounted && this.#mounted.isMounted;
  }

  /** Where it is mounted. */
  get path(): string {
    return this.#mounted.path;
  }

  /** From now on blocks that were never written cannot be, until `takeBlocks`. */
  refuseBlocks(): void {
    this.#store.fill();
  }

  takeBlocks(): void {
    this.#store.makeSpace();
  }

  /** The file system finds an error in itself and does what its option `errors=` says. */
  findError(): void {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const device = mounts.map(line => line.split(' ')).find(([, at]) => at === this.path)![0]!;
    writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, '1');
  }

  /** Everything written so far is on the device. */
  sync(): void {
    spawnSync('sync', ['-f', this.path]);
  }

  /** What a power cut would leave now, as an image that was checked, as a start of a machine does: ext4 without journal needs it. */
  powerCut(image: string): void {
    copyFileSync(this.#image, image);
    spawnSync('e2fsck', ['-f', '-y', image]);
  }

  remove(): void {
    this.takeBlocks();
    this.#mounted.remove();
    this.#store.remove();
  }
}
