/** docs/client.md as a reader would try it: its blocks are one project, which is type-checked and deployed, and its scripts run. */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs/client.md'), 'utf8');
const files = [...page.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, path, source]) => [path!, source!]);

const SETTINGS = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom'],
    types: [],
    allowImportingTsExtensions: true,
    skipLibCheck: false,
  },
  include: ['*.ts', 'svc/**/*'],
};

let service: Service;
let project: string;

beforeAll(async () => {
  service = await Service.start();
  project = mkdtempSync(join(tmpdir(), 'svc-docs-client-'));
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(root, join(project, 'node_modules/svc'));
  for (const name of ['typescript', '@typescript']) {
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  }
  write('svc.json', '{"tenant": "talk"}');
  write('package.json', '{"type": "module"}');
  write('tsconfig.json', JSON.stringify(SETTINGS));
  write('process.d.ts', 'declare const process: {readonly env: Readonly<Record<string, string | undefined>>};\n');
  for (const [path, source] of files) write(path!, source!);
  await run(process.execPath, [join(root, 'dist/cli.js'), 'deploy', '--create'], {cwd: project, env: environment()});
});
afterAll(async () => {
  await service.stop();
  rmSync(project, {recursive: true});
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(project, path)), {recursive: true});
  writeFileSync(join(project, path), text);
}

const environment = () => ({
  ...process.env,
  SVC_URL: service.url,
  SVC_DATA: service.data,
  DEPLOYMENT: `${service.url}/svc/talk`,
});

async function script(path: string): Promise<string[]> {
  const {stdout} = await run(process.execPath, ['--experimental-strip-types', '--no-warnings', path], {
    cwd: project,
    env: environment(),
  });
  return stdout.trim().split('\n');
}

describe('docs/client.md', () => {
  test('type-checks, with the declarations that it uses', async () => {
    const checked = run(process.execPath, [join(project, 'node_modules/typescript/bin/tsc'), '-p', '.'], {
      cwd: project,
    });
    await expect(checked.catch((failure: {stdout: string}) => failure.stdout)).resolves.toMatchObject({stdout: ''});
  });

  test('its scripts print what it says', async () => {
    const lines = await script('talk.ts');
    expect(lines.slice(-2)).toEqual(['1 messages', 'hello']);
    expect(['', '0 messages']).toContain(lines.slice(0, -2).join());
    expect(await script('once.ts')).toEqual(['hello, over HTTP']);
  });

  test('names every option, and each field of the connection state', () => {
    const sources = ['sdk/client/sync-client.ts', 'sdk/browser/client.ts', 'sdk/client/connection-state.ts'];
    const types = sources.map(path => readFileSync(join(root, path), 'utf8')).join('\n');
    const names = [...types.matchAll(/^ {2}(?:readonly )?(\w+)\??: .*;$/gm)].map(([, name]) => name!);
    const options = names.filter(
      name => new RegExp(`^ {2}${name}\\?: `, 'm').test(types) || /^(is|has|connection|inflight|timeOf)/.test(name),
    );
    expect(options.length).toBeGreaterThan(12);
    expect(options.filter(name => !page.includes(name))).toEqual([]);
  });
});
