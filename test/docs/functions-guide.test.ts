/**
 * docs/functions.md as a reader would try it: its TypeScript blocks are one project, which is type-checked and deployed, and its
 * shell blocks are typed into one shell, whose answers must be what the page says.
 */
import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, symlinkSync} from 'node:fs';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {DocsProject, PROCESS_TYPES, pageText, templateSettings} from '../harness/docs-project.ts';
import {nightly} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = pageText('functions.md');
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
  language,
  text: text!,
}));
const textsOf = (language: string) => blocks.filter(block => block.language === language).map(({text}) => text);

type Step = {command: string; expected: string | null; fails: boolean};
const steps: Step[] = textsOf('sh').flatMap(text => {
  const found: Step[] = [];
  for (const line of text.trimEnd().split('\n')) {
    const answer = /^# (→|fails:) (.*)$/.exec(line);
    if (answer === null) found.push({command: line, expected: null, fails: false});
    else Object.assign(found.at(-1)!, {expected: answer[2], fails: answer[1] === 'fails:'});
  }
  return found;
});

const service = await sharedService();
let project: DocsProject;
let weather: Server;
let outcomes: {output: string; code: number}[];

beforeAll(async () => {
  weather = createServer((_, response) => response.end('{"rain": false}')).listen(0, '127.0.0.1');
  await once(weather, 'listening');
  const settings = templateSettings('functions');
  project = new DocsProject(['functions.md'], settings, ['typescript', '@typescript']);
  project.write('svc.json', '{"tenant": "garden"}');
  project.write('svc/process.d.ts', PROCESS_TYPES);
  mkdirSync(join(project.directory, 'node_modules/.bin'));
  symlinkSync(join(root, 'dist/cli.js'), join(project.directory, 'node_modules/.bin/svc'));
});
afterAll(async () => {
  weather.close();
  project.remove();
});

const environment = () => ({
  ...process.env,
  PATH: `${join(project.directory, 'node_modules/.bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
  SVC_URL: service.url,
  SVC_DATA: service.data,
  DEPLOYMENT: `${service.url}/svc/garden`,
});

/** One shell for all, so that a variable set in one line is there in the next. */
async function typed(commands: string[]): Promise<{output: string; code: number}[]> {
  const mark = '@@ next';
  const script = commands.map(
    command => `{ ${command}\n} 2>"$ERRORS"; printf '\\n${mark} %s %s\\n' $? "$(base64 -w0 "$ERRORS")"`,
  );
  const child = spawn('bash', ['-s'], {
    cwd: project.directory,
    env: {...environment(), ERRORS: join(project.directory, 'errors.txt')},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(script.join('\n'));
  let output = '';
  child.stdout.on('data', text => (output += text));
  await once(child, 'close');
  return output
    .split(new RegExp(`\\n${mark} (\\d+) (.*)\\n`))
    .slice(0, -1)
    .reduce<{output: string; code: number}[]>((all, part, i, parts) => {
      if (i % 3 === 0) {
        const errors = Buffer.from(parts[i + 2]!, 'base64').toString();
        const code = Number(parts[i + 1]);
        all.push({output: code === 0 ? part : errors, code});
      }
      return all;
    }, []);
}

/** `…` stands for anything; white space does not count in JSON. */
function pattern(expected: string): RegExp {
  const isJson = /^[[{"]|^null$/.test(expected);
  const parts = expected.split('…').map(part => {
    const escaped = part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return isJson
      ? escaped
          .replaceAll(/\s+/g, '\\s*')
          .replaceAll(/([[{,:])/g, '$1\\s*')
          .replaceAll(/(\\[\]}])/g, '\\s*$1')
      : escaped;
  });
  return new RegExp(`^\\s*${parts.join('[\\s\\S]*')}\\s*$`);
}

describe('docs/functions.md', () => {
  test('is a project that type-checks and deploys', async () => {
    const {stdout, stderr} = await promisify(execFile)('svc', ['deploy', '--create'], {
      cwd: project.directory,
      env: environment(),
    });
    expect(`${stdout}${stderr}`).toContain('deployment 1 of garden is active');
  });

  test('answers in the shell as the page says', async () => {
    outcomes = await typed(steps.map(({command}) => command));
    expect(outcomes).toHaveLength(steps.length);
    const wrong = steps.flatMap(({command, expected, fails}, i) => {
      const {output, code} = outcomes[i]!;
      const isRight = (code !== 0) === fails && (expected === null || pattern(expected).test(output));
      return isRight ? [] : [{command, expected, output, code}];
    });
    expect(wrong).toEqual([]);
    expect(steps.filter(({expected}) => expected !== null).length).toBeGreaterThan(15);
  });

  test('its action asks the world, its reminders come and can be taken back', async () => {
    const {address, port} = weather.address() as AddressInfo;
    const settings = {egress: {allow: [address], deny: []}, allowed_origins: null};
    expect((await service.request('PUT', '/api/tenants/garden/settings', settings)).status).toBe(204);
    const run = async (path: string, args: object) => {
      const {body} = await service.post('/api/tenants/garden/functions/run', {path, args});
      expect(body).toMatchObject({status: 'success'});
      return (body as {value: unknown}).value;
    };
    const projectId = await run('projects:create', {name: 'balcony'});
    expect(await run('weather:ask', {project: projectId, url: `http://${address}:${port}/`})).toBe(false);
    expect(await run('tasks:open', {project: projectId})).toEqual(['water the peas']);
    const task = await run('tasks:add', {project: projectId, text: 'call Ada'});
    await run('tasks:remind', {task, afterMs: 60_000});
    const jobs = async () =>
      ((await service.get('/api/tenants/garden/schedule')).body as {jobs: {mutation: {path: string}}[]}).jobs.map(
        ({mutation}) => mutation.path,
      );
    expect(await jobs()).toContain('tasks:warn');
    await run('tasks:forgetReminders', {task});
    expect(await jobs()).not.toContain('tasks:warn');
    await run('tasks:warn', {task});
    expect(await run('tasks:open', {project: projectId})).toContain('call Ada!');
  });

  nightly.test('its test script runs', async () => {
    const [script] = textsOf('js');
    project.write('try.mjs', script!);
    const {stdout} = await promisify(execFile)(process.execPath, ['try.mjs'], {
      cwd: project.directory,
      env: {...environment(), SVC_URL: undefined, SVC_DATA: undefined},
    });
    expect(stdout).toContain("status: 'success'");
  });
});
