/** The TypeScript of docs/react.md and docs/moving-from-convex.md, as one project: it fits its generated code and `svc/react`. */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {bundleProject} from '../../cli/project/bundle.ts';
import {generateCode} from '../../cli/project/codegen.ts';
import {reactStarterFiles} from '../../cli/starter/react-files.ts';
import * as react from '../../sdk/react/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pageOf = (name: string) => readFileSync(join(root, 'docs', name), 'utf8');
const guide = pageOf('react.md');
const moving = pageOf('moving-from-convex.md');

let project: string;
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'svc-react-docs-'));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(project, path)), {recursive: true});
    writeFileSync(join(project, path), text);
  };
  const blocks = [...(guide + moving).matchAll(/^```tsx?\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)];
  expect(blocks).toHaveLength([...(guide + moving).matchAll(/^```tsx?$/gm)].length);
  for (const [, path, text] of blocks) write(path!, text!);
  write('svc.json', '{"tenant": "docs"}');
  const settings = JSON.parse(reactStarterFiles('docs', '')['tsconfig.json']!) as {compilerOptions: {types: string[]}};
  settings.compilerOptions.types = [];
  write('tsconfig.json', JSON.stringify({...settings, include: ['src', 'svc']}));
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(root, join(project, 'node_modules/svc'));
  for (const name of ['typescript', '@typescript', '@types', 'react', 'react-dom']) {
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  }
  await generateCode(project);
});
afterAll(() => rmSync(project, {recursive: true}));

describe('docs/react.md and docs/moving-from-convex.md', () => {
  test('have examples that type-check, functions and components', async () => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const checked = promisify(execFile)(process.execPath, [compiler, '-p', project], {cwd: project});
    await expect(checked.catch(({stdout}: {stdout: string}) => ({stdout}))).resolves.toMatchObject({stdout: ''});
  });

  test('have functions that can be deployed', async () => {
    expect(await bundleProject(project)).toMatchObject({});
  });

  test('name every export of svc/react', () => {
    expect(Object.keys(react).length).toBeGreaterThan(10);
    expect(Object.keys(react).filter(name => !guide.includes(name))).toEqual([]);
  });

  test('rename what an app imports, by the command that the page gives', async () => {
    const [, command] = /^(grep -rlE[\s\S]*?)^```$/m.exec(moving)!;
    const app = mkdtempSync(join(tmpdir(), 'svc-moved-'));
    try {
      mkdirSync(join(app, 'src'));
      mkdirSync(join(app, 'svc'));
      writeFileSync(join(app, 'package.json'), '{"scripts": {"dev": "convex dev"}}');
      writeFileSync(
        join(app, 'svc/a.ts'),
        'import { v } from "convex/values";\nimport { query } from \'./_generated/server\';\n',
      );
      writeFileSync(
        join(app, 'src/main.tsx'),
        [
          "import { ConvexProvider, ConvexReactClient, useConvexAuth, useConvex } from 'convex/react';",
          'import { api } from "../convex/_generated/api";',
          'const client = new ConvexReactClient(import.meta.env.VITE_CONVEX_URL);',
        ].join('\n'),
      );
      await promisify(execFile)('bash', ['-c', command!], {cwd: app});
      expect(readFileSync(join(app, 'svc/a.ts'), 'utf8')).toContain('from "svc/values"');
      expect(readFileSync(join(app, 'src/main.tsx'), 'utf8')).toBe(
        [
          "import { SvcProvider, SvcReactClient, useSvcAuth, useSvc } from 'svc/react';",
          'import { api } from "../svc/_generated/api";',
          'const client = new SvcReactClient(import.meta.env.VITE_SVC_URL);',
        ].join('\n'),
      );
    } finally {
      rmSync(app, {recursive: true});
    }
  });
});
