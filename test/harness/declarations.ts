/** What the declarations that we ship need. */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

/** Of a declaration file and all that it imports: the packages that are named, and how many files those are. */
export function packagesNamed(path: string): {packages: string[]; files: number} {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from] of readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g)) {
      if (from!.startsWith('.')) visit(join(file, '..', from!.replace(/\.js$/, '.d.ts')));
      else packages.add(from!);
    }
  };
  visit(path);
  return {packages: [...packages], files: seen.size};
}
