import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type Example, openExample} from '../../examples/run/example.ts';
import {nightly} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {until} from '../harness/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = (name: string) => join(root, 'examples', name);

const service = await sharedService();
let example: Example;
let ada: string;

beforeAll(async () => {
  example = await openExample({directory: directory('chat'), server: service, port: 0});
  ada = await tokenOf('Ada');
});
afterAll(async () => {
  await example?.close();
});

async function svc(name: string, ...args: string[]): Promise<{code: number; output: string}> {
  const env = {PATH: process.env.PATH ?? '', SVC_URL: service.url, SVC_DATA: service.data};
  const command = [join(root, 'dist/cli.js'), ...args, '--project', directory(name)];
  const child = spawn(process.execPath, command, {env, stdio: 'pipe'});
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return {code, output};
}

/** As the login provider of the example gives it. */
async function tokenOf(name: string): Promise<string> {
  const response = await fetch(`${example.url}auth/sign-in`, {method: 'POST', body: JSON.stringify({name})});
  return ((await response.json()) as {token: string}).token;
}

const chat = (method: string, path: string, body?: unknown, token?: string) =>
  service.request(method, `/svc/chat${path}`, body, {
    authorization: token === undefined ? undefined : `Bearer ${token}`,
  });
async function call(kind: string, path: string, args: object = {}, token: string | null = ada): Promise<unknown> {
  const reply = await chat('POST', `/${kind}`, {path, args}, token ?? undefined);
  const {status, value, errorMessage} = reply.body as {status: string; value?: unknown; errorMessage?: string};
  if (status !== 'success') throw new Error(errorMessage ?? reply.text);
  return value;
}

describe('the functions of examples/chat', () => {
  test('are deployed by one command; their types, and those of the page, fit', async () => {
    const {code, output} = await svc('chat', 'deploy');
    expect(output).toContain('types fit');
    expect(output).toContain('of chat is active: 13 functions');
    expect(code).toBe(0);
  });

  test('have channels and messages, for everybody to read and for users to write', async () => {
    const channel = await call('mutation', 'channels:create', {name: 'general'});
    expect(await call('mutation', 'channels:create', {name: 'general'})).toBe(channel);
    await call('mutation', 'messages:send', {channel, text: 'hello'});
    const paginationOpts = {numItems: 10, cursor: null};
    expect(await call('query/paginated', 'messages:list', {channel, paginationOpts}, null)).toMatchObject({
      page: [{author: 'Ada', text: 'hello'}],
      isDone: true,
    });
    const send = (text: string, token: string | null) => call('mutation', 'messages:send', {channel, text}, token);
    await expect(send('hello', null)).rejects.toThrow('Sign in first');
    await expect(send(' ', ada)).rejects.toThrow('A message has some text');
    await expect(call('mutation', 'channels:create', {name: 'No!'})).rejects.toThrow('small letters');
  });

  test('a message is taken back by who wrote it, and by nobody else', async () => {
    const channel = await call('mutation', 'channels:create', {name: 'regrets'});
    const id = await call('mutation', 'messages:send', {channel, text: 'oh no'});
    const eve = await tokenOf('Eve');
    await expect(call('mutation', 'messages:remove', {id}, eve)).rejects.toThrow('Only who wrote a message');
    await call('mutation', 'messages:remove', {id});
    await call('mutation', 'messages:remove', {id});
    expect((await chat('GET', '/http/export/regrets')).text).toBe('');
  });

  nightly.test('forget who is not heard of, and who leaves', async () => {
    const channel = await call('mutation', 'channels:create', {name: 'quiet'});
    const here = () => call('query', 'presence:here', {channel}) as Promise<{name: string; isTyping: boolean}[]>;
    await call('mutation', 'presence:heartbeat', {channel, isTyping: false});
    await call('mutation', 'presence:heartbeat', {channel, isTyping: true});
    expect(await here()).toMatchObject([{name: 'Ada', isTyping: true}]);
    await until('ada to be forgotten', async () => (await here()).length === 0);
    await call('mutation', 'presence:heartbeat', {channel, isTyping: false});
    await call('mutation', 'presence:leave', {channel});
    expect(await here()).toEqual([]);
    expect((await service.get('/api/tenants/chat/schedule')).body).toEqual({jobs: []});
  });

  test('take messages by a webhook and stream a channel', async () => {
    expect((await chat('POST', '/http/webhook/general', {author: 'ci', text: 'green'})).status).toBe(201);
    expect((await chat('POST', '/http/webhook/general', {author: 1})).status).toBe(400);
    expect((await chat('POST', '/http/webhook/nowhere', {author: 'ci', text: 'green'})).status).toBe(404);
    expect((await chat('GET', '/http/export/general')).text).toContain('ci: green\n');
  });

  test('ask the dictionary while the operator allows it', async () => {
    const ask = () => call('action', 'assistant:define', {channel: 'general', word: 'durable'});
    const allow = (hosts: string[]) =>
      service.request('PUT', '/api/tenants/chat/settings', {egress: {allow: hosts, deny: []}, allowed_origins: null});
    expect(await ask()).toBe('still there after the power went out');
    expect((await chat('GET', '/http/export/general')).text).toContain('assistant: durable: still there');
    await allow([]);
    await expect(ask()).rejects.toThrow("refused by the tenant's egress policy");
    await allow([new URL(example.url).host]);
  });

  test('svc run, data and logs show it', async () => {
    expect((await svc('chat', 'run', 'messages:inChannel', '{"channel": "general"}')).output).toContain(
      '"text": "hello"',
    );
    expect((await svc('chat', 'data')).output).toContain('messages: 3 documents');
    expect((await svc('chat', 'logs', '--no-follow')).output).toContain("[LOG] 'asked the dictionary'");
    const failed = await svc('chat', 'run', 'messages:send', '{}');
    expect(failed.code).toBe(1);
    expect(failed.output).toContain('ArgumentValidationError');
  });
});

nightly.describe('the functions of examples/tickets', () => {
  test('are deployed by one command; their types, and those of the page, fit', async () => {
    const {code, output} = await svc('tickets', 'deploy', '--create');
    expect(output).toContain('types fit');
    expect(code).toBe(0);
  });
});
