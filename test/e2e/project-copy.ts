/** A copy of the examples that a test may change, with the packages and the build of this checkout. */
import {cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export class ProjectCopy {
  readonly #root = mkdtempSync(join(tmpdir(), 'svc-examples-'));
  readonly directory: string;

  /** @param name a folder of `examples/` */
  constructor(name: string) {
    this.directory = join(this.#root, 'examples', name);
    cpSync(join(ROOT, 'examples'), join(this.#root, 'examples'), {recursive: true});
    for (const shared of ['dist', 'node_modules', 'package.json'])
      symlinkSync(join(ROOT, shared), join(this.#root, shared));
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.directory, path), text);
  }

  /** @throws Error when there is nothing to replace: the test would test nothing */
  replace(path: string, before: string, after: string): void {
    const text = readFileSync(join(this.directory, path), 'utf8');
    if (!text.includes(before)) throw new Error(`${path} has no ${before}`);
    this.write(path, text.replace(before, after));
  }

  remove(): void {
    rmSync(this.#root, {recursive: true});
  }
}
