/** The TypeScript of docs/react.md and docs/moving-from-convex.md, as one project: it fits its generated code and `svc/react`. */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {bundleProject} from '../../cli/project/bundle.ts';
import {generateCode} from '../../cli/project/codegen.ts';
import * as react from '../../sdk/react/index.ts';
import {DocsProject, pageText, templateSettings} from '../harness/docs-project.ts';

const guide = pageText('react.md');
const moving = pageText('moving-from-convex.md');

let project: DocsProject;
beforeAll(async () => {
  const settings = templateSettings('react');
  settings.compilerOptions.types = [];
  const packages = ['typescript', '@typescript', '@types', 'react', 'react-dom'];
  project = new DocsProject(['react.md', 'moving-from-convex.md'], {...settings, include: ['src', 'svc']}, packages);
  project.write('svc.json', '{"tenant": "docs"}');
  await generateCode(project.directory);
});
afterAll(() => project.remove());

describe('docs/react.md and docs/moving-from-convex.md', () => {
  test('have examples that type-check, functions and components', async () => {
    expect(await project.typeErrors()).toBe('');
  });

  test('have functions that can be deployed', async () => {
    expect(await bundleProject(project.directory)).toMatchObject({});
  });

  test('name every export of svc/react', () => {
    expect(Object.keys(react).length).toBeGreaterThan(10);
    expect(Object.keys(react).filter(name => !guide.includes(name))).toEqual([]);
  });

  test('rename what an app imports, by the command that the page gives', async () => {
    const [, command] = /^(git mv convex svc\n[\s\S]*?)^```$/m.exec(moving)!;
    const app = mkdtempSync(join(tmpdir(), 'svc-moved-'));
    const write = (path: string, lines: string[]) => {
      mkdirSync(dirname(join(app, path)), {recursive: true});
      writeFileSync(join(app, path), lines.join('\n'));
    };
    const linesOf = (path: string) => readFileSync(join(app, path), 'utf8').split('\n');
    const bash = (script: string) => promisify(execFile)('bash', ['-c', script], {cwd: app});
    try {
      write('convex/a.ts', [
        'import { v } from "convex/values";',
        "import { query } from './_generated/server';",
        'const one = await ctx.db.get("tasks", id);',
        "await ctx.db.patch('tasks', id, {done: true});",
        'await ctx.db.insert("tasks", {done});',
      ]);
      write('app/(shop)/[item]/page one.tsx', [
        "import { ConvexProvider, ConvexReactClient, useConvexAuth, useConvex } from 'convex/react';",
        'import { ConvexProviderWithClerk } from "convex/react-clerk";',
        'import { api } from "../../../convex/_generated/api";',
        "import { LIMIT } from '@/convex/shared';",
        "import type { Id } from 'convex/_generated/dataModel';",
        "import { convexQuery } from '@convex-dev/react-query';",
        'const client = new ConvexReactClient(import.meta.env.VITE_CONVEX_URL ?? process.env.NEXT_PUBLIC_CONVEX_URL);',
      ]);
      write('package-lock.json', [
        '{"node_modules/convex": {"resolved": "https://registry.example/convex/-/convex.tgz"}}',
      ]);
      await bash('git init -q && git add -A');
      await bash(command!);
      expect(linesOf('svc/a.ts')).toEqual([
        'import { v } from "svc/values";',
        "import { query } from './_generated/server';",
        'const one = await ctx.db.get(id);',
        'await ctx.db.patch(id, {done: true});',
        'await ctx.db.insert("tasks", {done});',
      ]);
      expect(linesOf('app/(shop)/[item]/page one.tsx')).toEqual([
        "import { SvcProvider, SvcReactClient, useSvcAuth, useSvc } from 'svc/react';",
        'import { ConvexProviderWithClerk } from "convex/react-clerk";',
        'import { api } from "../../../svc/_generated/api";',
        "import { LIMIT } from '@/svc/shared';",
        "import type { Id } from 'svc/_generated/dataModel';",
        "import { convexQuery } from '@convex-dev/react-query';",
        'const client = new SvcReactClient(import.meta.env.VITE_SVC_URL ?? process.env.NEXT_PUBLIC_SVC_URL);',
      ]);
      expect(linesOf('package-lock.json')[0]).toContain('registry.example/convex/-/convex.tgz');
    } finally {
      rmSync(app, {recursive: true});
    }
  });
});
