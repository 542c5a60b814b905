import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {readProject} from '../../../cli/project/project-file.ts';
import {SourceChanges} from '../../../cli/project/source-changes.ts';

const never = new AbortController().signal;
let root: string;
let changes: SourceChanges;
beforeEach(async () => {
  // As an installed package may lie: only what is in the project's own node_modules is not looked at.
  root = join(mkdtempSync(join(tmpdir(), 'svc-changes-')), 'node_modules/app');
  for (const directory of ['svc/_generated', 'svc/node_modules/x', 'shared'])
    mkdirSync(join(root, directory), {recursive: true});
  write('shared/words.ts');
  changes = await SourceChanges.watch(await readProject(root));
});
afterEach(async () => {
  await changes.close();
  rmSync(join(root, '../..'), {recursive: true});
});

const write = (file: string) => writeFileSync(join(root, file), `export const at = ${performance.now()};\n`);

describe('a change is', () => {
  test.each(['svc/a.ts', 'svc.json'])('a write to %s', async file => {
    write(file);
    expect(await changes.next(never)).toBe(true);
  });

  test('a write to what a module imports from elsewhere, once that is known', async () => {
    changes.add(['svc/a.ts', 'shared/words.ts']);
    write('svc/a.ts');
    expect(await changes.next(never)).toBe(true);
    write('shared/words.ts');
    expect(await changes.next(never)).toBe(true);
  });

  test('neither generated code nor a package: the wait ends by its signal', async () => {
    write('svc/_generated/api.js');
    write('svc/node_modules/x/index.js');
    write('svc/a.ts');
    expect(await changes.next(never)).toBe(true); // of a.ts alone, which was written last
    write('svc/_generated/api.js');
    const ended = new AbortController();
    const next = changes.next(ended.signal);
    ended.abort();
    expect(await next).toBe(false);
  });

  test('waited for many times, without listeners that stay', async () => {
    const warnings: string[] = [];
    const warn = (warning: Error) => void warnings.push(warning.message);
    process.on('warning', warn);
    const ended = new AbortController();
    for (let count = 0; count < 15; count++) {
      write('svc/a.ts');
      expect(await changes.next(ended.signal)).toBe(true);
    }
    process.removeListener('warning', warn);
    expect(warnings).toEqual([]);
  });
});
