/** What an anonymous caller does to built-ins through an app's careless merge reaches no other caller, in any kind of function. */
import {beforeAll, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const CARELESS = `
  const merge = (a: any, b: any) => {
    for (const k of Object.keys(b)) if (typeof b[k] === 'object') merge(a[k] ??= {}, b[k]); else a[k] = b[k];
    return a;
  };
  const work = (text: string) => {
    try { merge({}, JSON.parse(text)); } catch {}
    return look();
  };
  const look = () => [({} as any).admin ?? null, Object.prototype.toString.call(1), [1].concat([2]), JSON.stringify({a: 1})];`;

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, {
    'f.ts': `
      import {query, mutation, action} from './_generated/server';
      ${CARELESS}
      export const ofQuery = query({handler: async (_ctx, {text}: {text: string}): Promise<any> => work(text)});
      export const ofMutation = mutation({handler: async (_ctx, {text}: {text: string}): Promise<any> => work(text)});
      export const ofAction = action({handler: async (_ctx, {text}: {text: string}): Promise<any> => work(text)});
      const patch = () => { Promise.prototype.then = () => { throw new Error('patched'); }; JSON.parse = () => 1; };
      export const breakQuery = query({handler: async (): Promise<any> => patch()});
      export const breakMutation = mutation({handler: async (): Promise<any> => patch()});
      export const breakAction = action({handler: async (): Promise<any> => patch()});
      export const lazily = action({handler: async (): Promise<any> => (await import('./lazy')).patched()});`,
    'lazy.ts': `
      const list = Array.prototype as any;
      list.lazily = () => 'patched by a module';
      let calls = 0;
      export const patched = () => [([] as any).lazily(), ++calls];`,
    'http.ts': `
      import {httpRouter} from 'svc/server';
      import {httpAction} from './_generated/server';
      ${CARELESS}
      const http = httpRouter();
      http.route({path: '/work', method: 'POST', handler: httpAction(async (_ctx, request) => Response.json(work(await request.text())))});
      export default http;`,
  });
});

const SOUND = [null, '[object Number]', [1, 2], '{"a":1}'];
const POLLUTION = ['{"__proto__": {"admin": true}}', '{"constructor": {"prototype": {"admin": true}}}'];
const BREAKAGE = [
  '{"toString": {"call": 1}}',
  '{"__proto__": {"toString": {"call": "x"}}}',
  '{"constructor": {"keys": 1}}',
];

test.each(
  [...POLLUTION, ...BREAKAGE].flatMap(text => (['query', 'mutation', 'action'] as const).map(kind => [kind, text])),
)('%s: %s', async (kind, text) => {
  const path = `f:of${kind[0]!.toUpperCase()}${kind.slice(1)}`;
  const call = (args: object) => app.reply(kind as 'query', path, args);
  expect(await call({text: '{}'})).toMatchObject({status: 'success', value: SOUND});
  await call({text});
  expect(await call({text: '{}'})).toMatchObject({status: 'success', value: SOUND});
});

test.each([...POLLUTION, ...BREAKAGE])('HTTP action: %s', async text => {
  await app.svc('POST', '/http/work', text);
  expect((await app.svc('POST', '/http/work', '{}')).body).toEqual(SOUND);
});

test.each(['query', 'mutation', 'action'] as const)(
  'a %s that breaks what the kernel stands on fails alone',
  async kind => {
    const name = `${kind[0]!.toUpperCase()}${kind.slice(1)}`;
    await app.reply(kind, `f:break${name}`, {});
    expect(await app.reply(kind, `f:of${name}`, {text: '{}'})).toMatchObject({status: 'success', value: SOUND});
  },
);

test('a module that patches when it is imported in an action does so once for many calls', async () => {
  const replies: unknown[] = [];
  for (let i = 0; i < 3; i++) replies.push(await app.action('f:lazily', {}));
  expect(replies).toEqual([1, 2, 3].map(calls => ['patched by a module', calls]));
});
