/** A copy of `dist/` in which a test changes what the processes of a service run. */
import {chmodSync, cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export class ChangedBuild {
  /** Below the packages that it uses. */
  readonly dist = mkdtempSync(join(ROOT, 'node_modules/.svc-build-'));

  /** @param of the build that is copied */
  constructor(of = join(ROOT, 'dist')) {
    chmodSync(this.dist, 0o755); // users of tenants go through it
    cpSync(of, this.dist, {recursive: true});
  }

  /** The entry point runs a module of the test before anything else. */
  runFirst(entry: string, module: string): void {
    const name = `first-${entry}`;
    writeFileSync(join(this.dist, name), module);
    const path = join(this.dist, entry);
    const code = readFileSync(path, 'utf8');
    const begin = code.startsWith('#!') ? code.indexOf('\n') + 1 : 0;
    writeFileSync(path, `${code.slice(0, begin)}import './${name}';\n${code.slice(begin)}`);
  }

  /**
   * Replaces a piece of the code.
   * @param files a pattern of their names; each one that has the piece is changed
   * @throws Error: none has it, because the code is another one by now
   */
  replace(files: string, piece: string, by: string): void {
    let found = 0;
    for (const path of globSync(join(this.dist, files))) {
      const parts = readFileSync(path, 'utf8').split(piece);
      found += parts.length - 1;
      if (parts.length > 1) writeFileSync(path, parts.join(by));
    }
    if (found === 0) throw new Error(`no file ${files} of the build has: ${piece}`);
  }

  remove(): void {
    rmSync(this.dist, {recursive: true});
  }
}
