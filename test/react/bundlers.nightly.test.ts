/** Apps as their authors build them, with the packed package: what comes of them runs, and holds what a page needs and no more. */
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {type BuildOptions, build} from 'esbuild';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {generateCode} from '../../cli/project/codegen.ts';
import {FixtureProject} from './project.ts';

/** Of svc/react with all it needs but React, minified and compressed. */
const REACT_BYTES_MAX = 16 * 1024;

const MESSAGES = `
import {mutation, paginatedQuery, query} from './_generated/server';
export const count = query({args: {}, handler: async ctx => (await ctx.db.query('messages').collect()).length});
export const list = paginatedQuery({args: {}, handler: (ctx, args) => ctx.db.query('messages').paginate(args.paginationOpts)});
export const send = mutation(async (ctx, {body}: {body: string}) => { await ctx.db.insert('messages', {body}); });
`;

/** The fixture with the packed package, and with functions and what svc generates for them. */
async function appOf(name: string): Promise<FixtureProject> {
  const project = await FixtureProject.install(name);
  await project.addSvc();
  mkdirSync(join(project.directory, 'svc'));
  writeFileSync(join(project.directory, 'svc/messages.ts'), MESSAGES);
  writeFileSync(join(project.directory, 'svc.json'), '{"tenant": "app"}');
  await generateCode(project.directory);
  return project;
}

/** All JavaScript below a directory of the project. */
function scriptsOf(project: FixtureProject, directory: string): string {
  return readdirSync(join(project.directory, directory), {recursive: true, encoding: 'utf8'})
    .filter(name => name.endsWith('.js'))
    .map(name => readFileSync(join(project.directory, directory, name), 'utf8'))
    .join('\n');
}

/** In every one: the protocol of the socket, one React, nothing of what only functions use. */
function expectWhole(script: string): void {
  expect(script).toContain('svc.functions.v1');
  expect(script.match(/useSyncExternalStore/g)?.length).toBeGreaterThan(0);
  expect(script).not.toContain('paginationOptsValidator');
  expect(script).not.toContain('cronJobs');
}

describe('Vite and esbuild', () => {
  let project: FixtureProject;
  beforeAll(async () => {
    project = await appOf('vite');
  }, 180_000);
  afterAll(() => project.remove());

  test('Vite builds an app', {timeout: 120_000}, async () => {
    await project.run('npx', ['vite', 'build']);
    expectWhole(scriptsOf(project, 'dist'));
  });

  test('esbuild builds it too, and svc/react is small in it', {timeout: 120_000}, async () => {
    const built = async (options: BuildOptions) => {
      const {outputFiles} = await build({
        absWorkingDir: project.directory,
        entryPoints: ['src/main.jsx'],
        bundle: true,
        minify: true,
        format: 'esm',
        jsx: 'automatic',
        define: {'process.env.NODE_ENV': '"production"'},
        ...options,
        write: false,
      });
      return outputFiles[0]!;
    };
    expectWhole((await built({})).text);
    const ofSvc = await built({external: ['react', 'react-dom', 'react/jsx-runtime']});
    expect(gzipSync(ofSvc.contents).length).toBeLessThan(REACT_BYTES_MAX);
  });
});

describe('Next.js', () => {
  let project: FixtureProject;
  beforeAll(async () => {
    project = await appOf('next');
  }, 300_000);
  afterAll(() => project.remove());

  test('builds an app, renders its page on the server while loading, and sends the client', {
    timeout: 300_000,
  }, async () => {
    await project.run('npx', ['next', 'build'], {NEXT_TELEMETRY_DISABLED: '1'});
    const page = join(project.directory, '.next/server/app/index.html');
    expect(existsSync(page)).toBe(true);
    expect(readFileSync(page, 'utf8')).toContain(
      '<h1>Rendered on the server</h1><button type="button">loading, not connected</button>',
    );
    expectWhole(scriptsOf(project, '.next/static'));
  });
});
