/** The examples of docs/services.md and docs/node.md: shell run as it stands against a fresh server, TypeScript checked and bundled. */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, onTestFinished, test} from 'vitest';
import {bundleProject} from '../../cli/project/bundle.ts';
import {generateCode} from '../../cli/project/codegen.ts';
import {starterFiles} from '../../cli/starter/files.ts';
import {Service} from '../harness/service.ts';
import {runExamples} from './shell-examples.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('every shell example of docs/services.md succeeds, in their order', async () => {
  const stdout = await runExamples('services.md', service);
  for (const shown of [
    '"name":"clock"',
    '"state":"starting","desired_state":"running","restarts":0,"started_at":null,"last_exit":null',
    `"level":"info","line":"'hello' 'world'"`,
    '"line":"runs as process ',
    '"state":"stopped","desired_state":"stopped"',
    '"reason":"stopped","message":null',
    '"reason":"returned"',
    `"line":"'once'"`,
  ]) {
    expect(stdout).toContain(shown);
  }
});

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What the page's service calls, which is the app's own. */
const MAIL = `import {v} from 'svc/values';
import {internalMutation, internalQuery} from './_generated/server';
export const waiting = internalQuery(async ctx => await ctx.db.query('mails').collect());
export const sent = internalMutation({args: {id: v.id('mails')}, handler: async (ctx, {id}) => { await ctx.db.delete(id); }});
`;

test('every TypeScript example of docs/services.md and docs/node.md fits its types and can be deployed', async () => {
  const project = mkdtempSync(join(tmpdir(), 'svc-services-docs-'));
  onTestFinished(() => rmSync(project, {recursive: true}));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(project, path)), {recursive: true});
    writeFileSync(join(project, path), text);
  };
  const pages = ['services.md', 'node.md'].map(name => readFileSync(join(root, 'docs', name), 'utf8')).join('\n');
  const blocks = [...pages.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)];
  expect(blocks).toHaveLength([...pages.matchAll(/^```tsx?$/gm)].length);
  for (const [, path, text] of blocks) write(path!, text!);
  write('svc/mail.ts', MAIL);
  write('svc.json', '{"tenant": "docs"}');
  const settings = JSON.parse(starterFiles('docs', '')['tsconfig.json']!) as {compilerOptions: {types?: string[]}};
  settings.compilerOptions.types = ['node'];
  write('tsconfig.json', JSON.stringify(settings));
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(root, join(project, 'node_modules/svc'));
  for (const name of ['typescript', '@typescript', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  await generateCode(project);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const checked = promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', project], {cwd: project});
  await expect(checked.catch(({stdout}: {stdout: string}) => ({stdout}))).resolves.toMatchObject({stdout: ''});
  expect((await bundleProject(project)).modules).toEqual(['digest', 'mail', 'workers/mail']);
});
