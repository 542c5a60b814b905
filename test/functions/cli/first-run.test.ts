import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdtempSync, readFileSync, realpathSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../../harness/command.ts';
import {nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';

let home: string;
let state: Record<string, string>;
let service: Service;
let environment: Record<string, string>;
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-first-run-')));
  state = {XDG_STATE_HOME: join(home, 'state')};
  service = await Service.start({env: state});
});
beforeEach(() => {
  environment = {...state, SVC_URL: service.url};
});
afterAll(async () => {
  await service.stop();
  rmSync(home, {recursive: true});
});

const noteOf = (port: number) => join(home, 'state', 'svc', 'servers', `${port}.json`);

async function shell(command: string): Promise<{code: number; output: string}> {
  const env = {...process.env, ...environment}; // npm's own settings for the network are among them
  const child = spawn('bash', ['-c', command], {cwd: home, env, stdio: ['ignore', 'pipe', 'pipe']});
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return {code, output};
}

/** Where npm brought the Node that runs this, the next command needs it, too. */
const PRINTED = process.execPath.includes('/_npx/')
  ? 'npx -y -p node@22 -c "npm install && npm run dev"'
  : 'npm install && npx svc dev';

nightly.describe('the line that svc init prints', () => {
  test('installs, deploys and leaves a project whose functions answer', async () => {
    const {stdout} = await svc(['init', join(home, 'todo')], environment);
    const line = /^next: (.+)$/m.exec(stdout)![1]!;
    expect(line).toBe(`cd ${join(home, 'todo')} && ${PRINTED}`);
    const {code, output} = await shell(
      line.replace('svc dev', 'svc dev --once').replace('run dev', 'run dev -- --once'),
    );
    expect(output).toContain('deployment 1 is live');
    expect(code).toBe(0);
    const reply = await service.post('/svc/todo/query', {path: 'tasks:open', args: {}}, {authorization: undefined});
    expect(reply).toMatchObject({status: 200, body: {status: 'success', value: []}});
    const again = await shell(
      `cd todo && PATH="$PWD/node_modules/.bin:$PATH" && svc run tasks:add '{"text": "try svc"}' && svc data tasks`,
    );
    expect(again).toMatchObject({code: 0, output: expect.stringContaining('try svc')});
  });

  test('quotes a directory that a shell would take apart', async () => {
    const {stdout} = await svc(['init', join(home, "it's here")], environment);
    expect(stdout).toContain(`cd '${join(home, "it'\\''s here")}' && ${PRINTED}\n`);
  });
});

describe('a server of this user on this machine', () => {
  test('is noted without its secret, under its port', () => {
    const note = readFileSync(noteOf(service.port), 'utf8');
    expect(JSON.parse(note)).toEqual({data: service.data, pid: service.pid});
    expect(note).not.toContain(service.accessToken);
  });

  test.each(['127.0.0.1', 'localhost'])('is found at %s from any directory', async host => {
    const url = `http://${host}:${service.port}`;
    const tenant = await service.tenant();
    expect(await svc(['data', '--tenant', tenant, '--url', url, '--project', home], state)).toMatchObject({code: 0});
  });

  test('is not found under another host name, whose server is another', async () => {
    const {code, stderr} = await svc(['data', '--tenant', 'a', '--url', 'http://svc.invalid:3210'], state, home);
    expect(code).toBe(1);
    expect(stderr).toMatch(/no access token: no server of yours runs at http:\/\/svc\.invalid:3210/);
    const dev = await svc(['dev', '--tenant', 'a', '--url', 'http://svc.invalid:3210'], state, home);
    expect(dev.stderr).toMatch(/; svc dev --local starts one on this machine\n$/);
  });

  test('counts only while it lives, and takes its note back when it stops', async () => {
    const other = await Service.start({env: state});
    const environment = {...state, SVC_URL: other.url};
    await other.killAll();
    expect(existsSync(noteOf(other.port))).toBe(true);
    const {stderr} = await svc(['data', '--tenant', 'a'], environment, home);
    expect(stderr).toContain('no access token: no server of yours runs at');
    await other.run();
    const {port} = other;
    await other.stop();
    expect(existsSync(noteOf(port))).toBe(false);
  });

  test('serves although its note cannot be written', async () => {
    const other = await Service.start({env: {XDG_STATE_HOME: '/dev/null'}});
    expect((await other.get('/health')).status).toBe(200);
    await other.stop();
  });
});
