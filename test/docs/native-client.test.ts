/** docs/native-client.md as a reader would try it: its blocks are one project, which is type-checked, and its scripts run. */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {pageText} from './shell-examples.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const files = [...pageText('native-client.md').matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)];
const SETTINGS = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom'],
    types: [],
  },
  include: ['*.ts'],
};
/** What each prints, in the order of the page. */
const PRINTED: Record<string, string[]> = {
  'tour.ts': ['write docs 3', '1 popular', 'op.precondition_failed 412'],
  'transaction.ts': ["[ 'pen' ]"],
  'live.ts': ['people: ', 'people: ada'],
  'journal.ts': ["true [ 'insert ada' ]"],
};

let service: Service;
let project: string;
beforeAll(async () => {
  service = await Service.start();
  expect((await service.post('/api/tenants', {id: 'talk'})).status).toBe(201);
  project = mkdtempSync(join(tmpdir(), 'svc-docs-native-'));
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(root, join(project, 'node_modules/svc'));
  writeFileSync(join(project, 'package.json'), '{"type": "module"}');
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(SETTINGS));
  writeFileSync(
    join(project, 'process.d.ts'),
    'declare const process: {readonly env: Record<string, string | undefined>};\n',
  );
  for (const [, path, source] of files) writeFileSync(join(project, path!), source!);
});
afterAll(async () => {
  await service.stop();
  rmSync(project, {recursive: true});
});

test('every example of docs/native-client.md type-checks and prints what it says', async () => {
  service.showLogOnFailure();
  const tsc = run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'], {cwd: project});
  expect(await tsc.catch((failure: {stdout: string}) => failure)).toMatchObject({stdout: ''});
  const env = {...process.env, SVC_URL: service.url, SVC_KEY: service.accessToken};
  const printed: Record<string, string[]> = {};
  for (const [, path] of files) {
    const {stdout} = await run(process.execPath, ['--experimental-strip-types', '--no-warnings', path!], {
      cwd: project,
      env,
    });
    printed[path!] = stdout.replace(/\n$/, '').split('\n');
  }
  expect(printed).toEqual(PRINTED);
});
