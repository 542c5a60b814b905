/** A directory that is deeper than a path may be long, as code can make that goes down step by step. */
import {mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';

/** @param fill the innermost directory */
export function makeDeepTree(path: string, fill: (innermost: string) => void = () => undefined): void {
  // From the inside out: each directory is put into the next one.
  const made = mkdtempSync(join(dirname(path), 'made-'));
  let inner = join(made, 'inner');
  mkdirSync(inner);
  fill(inner);
  for (let depth = 0; depth < 40; depth++) {
    const outer = join(made, `outer${depth}`);
    mkdirSync(outer);
    writeFileSync(join(outer, 'file'), '');
    renameSync(inner, join(outer, 'n'.repeat(200)));
    inner = outer;
  }
  renameSync(inner, path);
  rmSync(made, {recursive: true});
}
