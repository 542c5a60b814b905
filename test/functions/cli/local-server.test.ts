/** What `svc dev --local` keeps in a project, and who may read it: its server has tokens and documents there. */
import {spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterEach, beforeEach, expect, onTestFinished, test} from 'vitest';
import {projectFiles, templateFiles} from '../../../cli/starter/files.ts';
import {freePort} from '../../harness/free-port.ts';
import {isAlive} from '../../harness/processes.ts';
import {STATE} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'svc-local-'));
});
afterEach(() => rmSync(project, {recursive: true, force: true}));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(project, path)), {recursive: true});
  writeFileSync(join(project, path), text);
}

test('its server ends with the command, however that ends, and its data is not for the repository', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  write('svc.json', '{"tenant": "local"}');
  write('svc/a.ts', 'export const one = 1;');
  const command = spawn(process.execPath, [join(root, 'dist/cli.js'), 'dev', '--local', '--url', url], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir(), ...STATE},
  });
  onTestFinished(() => void command.kill('SIGKILL'));
  let said = '';
  command.stderr.on('data', text => {
    said += String(text);
  });
  await until('the server', () => said.includes('started a server'));
  expect(readFileSync(join(project, '.svc/.gitignore'), 'utf8')).toBe('*\n');
  const {pid} = JSON.parse(readFileSync(join(project, '.svc/svc.owner'), 'utf8')) as {pid: number};
  expect(isAlive(pid)).toBe(true);
  command.kill('SIGKILL');
  await until('the server to end', () => !isAlive(pid));
});

test('Vite, set up as the template does it, serves nothing of it', async () => {
  const files = projectFiles(templateFiles(root, 'react'), 'tasks', '1.0.0');
  for (const [path, text] of Object.entries(files)) write(path, text);
  write('.svc/admin.json', '{"admin_token": "secret"}');
  write('.svc/tenants/t_tasks_1/tenant.sqlite', 'secret');
  write('node_modules/@vitejs/plugin-react/package.json', '{"type": "module", "main": "index.js"}');
  write('node_modules/@vitejs/plugin-react/index.js', "export default () => ({name: 'not needed here'});");
  symlinkSync(join(root, 'node_modules/vite'), join(project, 'node_modules/vite'));
  const {createServer} = await import('vite');
  const settings = {server: {host: '127.0.0.1', port: 0}, optimizeDeps: {noDiscovery: true}};
  const vite = await createServer({root: project, logLevel: 'silent', ...settings});
  onTestFinished(() => vite.close());
  await vite.listen();
  const {port} = vite.httpServer!.address() as AddressInfo;
  const answer = async (path: string) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {headers: {origin: 'http://localhost:1'}});
    return {status: reply.status, isTold: (await reply.text()).includes('secret')};
  };
  const inside = ['/.svc/admin.json', '/.svc/tenants/t_tasks_1/tenant.sqlite', `/@fs${project}/.svc/admin.json`];
  for (const path of inside.flatMap(one => [one, `${one}?raw`, `${one}?import&raw`, `${one}?url`])) {
    expect([path, await answer(path)]).toEqual([path, {status: 403, isTold: false}]);
  }
  expect(await answer('/src/style.css')).toMatchObject({status: 200});
});
