/** docs/client.md as a reader would try it: its blocks are one project, which is type-checked and deployed, and its scripts run. */
import {execFile} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {DocsProject, PROCESS_TYPES, pageText, SCRIPT_OPTIONS} from '../harness/docs-project.ts';
import {sharedService} from '../harness/shared-service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = pageText('client.md');
const SETTINGS = {
  compilerOptions: {...SCRIPT_OPTIONS, allowImportingTsExtensions: true, skipLibCheck: false},
  include: ['*.ts', 'svc/**/*'],
};

const service = await sharedService();
let project: DocsProject;

beforeAll(async () => {
  project = new DocsProject(['client.md'], SETTINGS, ['typescript', '@typescript']);
  project.write('svc.json', '{"tenant": "talk"}');
  project.write('package.json', '{"type": "module"}');
  project.write('process.d.ts', PROCESS_TYPES);
  const deploy = [join(root, 'dist/cli.js'), 'deploy', '--create'];
  await promisify(execFile)(process.execPath, deploy, {cwd: project.directory, env: environment()});
});
afterAll(async () => {
  project.remove();
});

const environment = () => ({
  ...process.env,
  SVC_URL: service.url,
  SVC_DATA: service.data,
  DEPLOYMENT: `${service.url}/svc/talk`,
});

describe('docs/client.md', () => {
  test('type-checks, with the declarations that it uses', async () => {
    expect(await project.typeErrors()).toBe('');
  });

  test('its scripts print what it says', async () => {
    const lines = await project.script('talk.ts', environment());
    expect(lines.slice(-2)).toEqual(['1 messages', 'hello']);
    expect(['', '0 messages']).toContain(lines.slice(0, -2).join());
    expect(await project.script('once.ts', environment())).toEqual(['hello, over HTTP']);
    expect(await project.script('pages.ts', environment())).toEqual([
      'CanLoadMore over HTTP',
      'LoadingMore over HTTP',
      'Exhausted over HTTP, hello',
    ]);
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
