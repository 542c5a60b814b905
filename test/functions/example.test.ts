import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const example = join(root, 'examples/chat');

let service: Service;
let dictionary: ChildProcess;
let dictionaryUrl: string;

beforeAll(async () => {
  service = await Service.start();
  dictionary = spawn(process.execPath, [join(example, 'dictionary-server.mjs')], {
    env: {PORT: '0'},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(dictionary.stdout!, 'data')) as [Buffer];
  dictionaryUrl = /http:\S+/.exec(line.toString())![0];
});
afterAll(async () => {
  dictionary.kill();
  await service.stop();
});

async function svc(...args: string[]): Promise<{code: number; output: string}> {
  const env = {PATH: process.env.PATH ?? '', SVC_URL: service.url, SVC_DATA: service.data};
  const child = spawn(process.execPath, [join(root, 'dist/cli.js'), ...args, '--project', example], {
    env,
    stdio: 'pipe',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return {code, output};
}

const chat = (method: string, path: string, body?: unknown) =>
  service.request(method, `/svc/chat${path}`, body, {authorization: undefined});
async function call(kind: string, path: string, args: object = {}): Promise<unknown> {
  const reply = await chat('POST', `/${kind}`, {path, args});
  const {status, value, errorMessage} = reply.body as {status: string; value?: unknown; errorMessage?: string};
  if (status !== 'success') throw new Error(errorMessage);
  return value;
}

describe('examples/chat', () => {
  test('is deployed by one command, which makes the tenant; its types fit', async () => {
    const {code, output} = await svc('deploy', '--create');
    expect(output).toContain('types fit');
    expect(output).toContain('deployment 1 of chat is active: 10 functions');
    expect(code).toBe(0);
  });

  test('has channels and messages', async () => {
    const channel = await call('mutation', 'channels:create', {name: 'general'});
    expect(await call('mutation', 'channels:create', {name: 'general'})).toBe(channel);
    await call('mutation', 'messages:send', {channel, author: 'ada', text: 'hello'});
    const paginationOpts = {numItems: 10, cursor: null};
    expect(await call('query/paginated', 'messages:list', {channel, paginationOpts})).toMatchObject({
      page: [{author: 'ada', text: 'hello'}],
      isDone: true,
    });
    await expect(call('mutation', 'messages:send', {channel, author: 'ada', text: ' '})).rejects.toThrow(
      'A message has some text',
    );
  });

  test('forgets who is not heard of', async () => {
    const channel = await call('mutation', 'channels:create', {name: 'quiet'});
    await call('mutation', 'presence:heartbeat', {channel, user: 'ada'});
    await call('mutation', 'presence:heartbeat', {channel, user: 'ada'});
    expect(await call('query', 'presence:here', {channel})).toEqual(['ada']);
    await until(
      'ada to be forgotten',
      async () => ((await call('query', 'presence:here', {channel})) as string[]).length === 0,
    );
  });

  test('takes messages by a webhook and streams a channel', async () => {
    expect((await chat('POST', '/http/webhook/general', {author: 'ci', text: 'green'})).status).toBe(201);
    expect((await chat('POST', '/http/webhook/general', {author: 1})).status).toBe(400);
    expect((await chat('POST', '/http/webhook/nowhere', {author: 'ci', text: 'green'})).status).toBe(404);
    expect((await chat('GET', '/http/export/general')).text).toContain('ci: green\n');
  });

  test('asks the dictionary once the operator allows it', async () => {
    expect((await svc('env', 'set', 'DICTIONARY_URL', dictionaryUrl)).code).toBe(0);
    const ask = () => call('action', 'assistant:define', {channel: 'general', word: 'durable'});
    await expect(ask()).rejects.toThrow("refused by the tenant's egress policy");
    const egress = {allow: [dictionaryUrl.slice('http://'.length)], deny: []};
    await service.request('PUT', '/api/tenants/chat/settings', {egress, allowed_origins: null});
    expect(await ask()).toBe('still there after the power went out');
    expect((await chat('GET', '/http/export/general')).text).toContain('assistant: durable: still there');
  });

  test('svc run, data and logs show it', async () => {
    expect((await svc('run', 'messages:inChannel', '{"channel": "general"}')).output).toContain('"text": "hello"');
    expect((await svc('data')).output).toContain('channels: 2 documents');
    expect((await svc('logs', '--no-follow')).output).toContain("[LOG] 'asked the dictionary'");
    const failed = await svc('run', 'messages:send', '{}');
    expect(failed.code).toBe(1);
    expect(failed.output).toContain('ArgumentValidationError');
  });
});
