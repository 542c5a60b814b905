/** A script with both clients, as an app would run it, in each runtime that docs/client.md names. */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {Cable} from './cable.ts';
import {type Command, RUNTIMES} from './runtimes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const INSTALL_MS = 300_000;

const NOTES = `
import {action, mutation, query} from './_generated/server';
export const list = query(async ctx => (await ctx.db.query('notes').collect()).map(({text}) => text));
export const add = mutation(async (ctx, {text}) => { await ctx.db.insert('notes', {text}); });
export const doubled = action((_, {numbers}) => numbers.map(number => number * 2));
`;

let service: Service;
let cable: Cable;
let project: string;
beforeAll(async () => {
  service = await Service.start();
  cable = await Cable.to(() => service.port);
  project = mkdtempSync(join(tmpdir(), 'svc-runtimes-'));
  mkdirSync(join(project, 'node_modules'));
  for (const [name, at] of [
    ['svc', root],
    ['ws', join(root, 'node_modules/ws')],
  ]) {
    symlinkSync(at!, join(project, 'node_modules', name!));
  }
  writeFileSync(join(project, 'package.json'), '{"type": "module", "dependencies": {"svc": "*", "ws": "*"}}');
});
afterAll(async () => {
  cable?.close();
  await service?.stop();
  rmSync(project, {recursive: true, force: true});
});

/** What the script says, a JSON value a line. It ends by itself when its client is closed: nothing else keeps it running. */
function script(url: string, hasWebSocket: boolean): string {
  return `
    import {SvcClient, SvcHttpClient} from 'svc/browser';
    import {anyApi as api} from 'svc/server';
    ${hasWebSocket ? '' : "import {WebSocket} from 'ws';"}
    const say = value => console.log(JSON.stringify(value));

    const http = new SvcHttpClient('${url}');
    await http.mutation(api.notes.add, {text: 'by HTTP'});
    const [negativeZero, infinity] = await http.action(api.notes.doubled, {numbers: [-0, Infinity]});
    say({http: await http.query(api.notes.list), isExact: Object.is(negativeZero, -0) && infinity === Infinity});

    const live = new SvcClient('${url}', {webSocketConstructor: ${hasWebSocket ? 'undefined' : 'WebSocket'}});
    const watched = live.onUpdate(api.notes.list, {}, () => {});
    const shows = text => new Promise(resolve => {
      live.onUpdate(api.notes.list, {}, list => { if (list.includes(text)) resolve(); });
    });
    say({queried: await live.query(api.notes.list)});
    await live.mutation(api.notes.add, {text: 'by socket'});
    say({afterMutation: watched.getCurrentValue(), doubled: await live.action(api.notes.doubled, {numbers: [4]})});

    const back = new Promise(resolve => {
      live.subscribeToConnectionState(({isWebSocketConnected, connectionCount}) => {
        if (isWebSocketConnected && connectionCount > 1) resolve();
      });
    });
    say('cut');
    await Promise.all([live.mutation(api.notes.add, {text: 'meanwhile'}), back]);
    say({back: watched.getCurrentValue()});
    await shows('from elsewhere');
    say({pushed: watched.getCurrentValue()});
    await live.close();
  `;
}

/** A commit runs this version of Node, and one of the others. */
const SOME = RUNTIMES.filter(({name}) => name === 'Node 22' || name === 'Bun');

describe.each(rounds({commit: SOME, nightly: RUNTIMES}))('in $name', ({name, hasWebSocket, command}) => {
  let executable: Command;
  beforeAll(async () => {
    executable = await command();
  }, INSTALL_MS);

  test('calls over HTTP, live results, a mutation and an action over the socket, the socket cut and back, and an end', async () => {
    const app = await App.deploy(service, {'notes.ts': NOTES});
    const path = join(project, `${name.replace(' ', '-')}.mjs`);
    writeFileSync(path, script(`${cable.url}/svc/${app.tenant}`, hasWebSocket));
    const [file, ...args] = [...executable, path];
    const child = spawn(file, args, {cwd: project, stdio: ['ignore', 'pipe', 'pipe']});
    const ended = once(child, 'close');
    let complaints = '';
    child.stderr.on('data', text => (complaints += text));
    const said: unknown[] = [];
    for await (const line of createInterface(child.stdout)) {
      const value = JSON.parse(line) as unknown;
      said.push(value);
      if (value === 'cut') cable.cut();
      else if (Object.hasOwn(value as object, 'back')) await app.mutation('notes:add', {text: 'from elsewhere'});
    }
    expect(complaints).toBe('');
    const [code] = await ended;
    const notes = ['by HTTP', 'by socket', 'meanwhile', 'from elsewhere'];
    expect(said).toEqual([
      {http: notes.slice(0, 1), isExact: true},
      {queried: notes.slice(0, 1)},
      {afterMutation: notes.slice(0, 2), doubled: [8]},
      'cut',
      {back: notes.slice(0, 3)},
      {pushed: notes},
    ]);
    expect(code).toBe(0);
  });

  if (!hasWebSocket) {
    test('without one of the package ws, the first use says so', async () => {
      const path = join(project, 'without.mjs');
      const text = `import {SvcClient} from 'svc/browser';
        new SvcClient('http://127.0.0.1:1/svc/a').query('notes:list').catch(({message}) => console.log(message));`;
      writeFileSync(path, text);
      const [file, ...args] = [...executable, path];
      const child = spawn(file, args, {cwd: project, stdio: ['ignore', 'pipe', 'inherit']});
      let said = '';
      for await (const chunk of child.stdout) said += chunk;
      expect(said).toContain(
        'There is no WebSocket here: pass one as webSocketConstructor (for Node 20, of the package ws)',
      );
    });
  }
});
