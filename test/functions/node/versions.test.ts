/** A project of which some modules are for Node, on each version that it may ask for. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {NODE_VERSIONS} from '../../../shared/node-version.ts';
import {nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {App} from '../app.ts';
import {nodeVariables, onNode} from './node-app.ts';

/** Installing three of them. */
const INSTALL_MS = 300_000;
const MODULES = 20;
const NODE_MODULES = 5;

let service: Service;
beforeAll(async () => {
  service = await Service.start({env: await nodeVariables()});
}, INSTALL_MS);
afterAll(() => service.stop());

/** Twenty modules, five of them for Node, which share code and call the others. */
function project(): Record<string, string> {
  const files: Record<string, string> = {
    'shared.ts': "export const tag = (text: string) => '<' + text + '>';\n",
  };
  for (let n = 1; n < MODULES; n++) {
    files[`module${n}.ts`] =
      n <= NODE_MODULES
        ? `"use node";
           import path from 'path';
           import {AsyncLocalStorage} from 'node:async_hooks';
           import {v} from 'svc/values';
           import {action} from './_generated/server';
           import {api} from './_generated/api';
           import {tag} from './shared';
           const store = new AsyncLocalStorage<number>();
           export const version = action(async () => process.versions.node);
           export const run = action({args: {text: v.string()}, returns: v.string(), handler: (ctx, {text}) => store.run(${n}, async () => {
             await ctx.runMutation(api.module10.add, {text: tag(path.basename(text))});
             return (await ctx.runQuery(api.module11.all, {})).join() + store.getStore();
           })});`
        : `import {query, mutation} from './_generated/server';
           import {tag} from './shared';
           export const all = query(async ctx => (await ctx.db.query('texts').collect()).map(({text}) => text));
           export const add = mutation(async (ctx, {text}) => { await ctx.db.insert('texts', {text}); });
           export const tagged = query(async () => tag('${n}'));`;
  }
  return files;
}

nightly.describe('a project of twenty modules, five of them for Node, deploys and runs', () => {
  test.each(NODE_VERSIONS)('with node.nodeVersion %s', async version => {
    const app = await App.deploy(service, {...onNode(version), ...project()});
    const {body} = await app.admin('GET', '/functions');
    const {functions} = body as {functions: {module: string; kind: string; runtime?: string}[]};
    const onNodeRuntime = new Set(functions.filter(({runtime}) => runtime === 'node').map(({module}) => module));
    expect([...onNodeRuntime]).toEqual(['module1', 'module2', 'module3', 'module4', 'module5']);
    for (let n = 1; n <= NODE_MODULES; n++) {
      expect(await app.action(`module${n}:version`, {})).toMatch(new RegExp(`^${version}\\.`));
    }
    expect(await app.query('module19:tagged', {})).toBe('<19>');
    expect(await app.action('module2:run', {text: '/a/b'})).toBe('<b>2');
    expect(await app.actionError('module2:run', {text: 1})).toContain('ArgumentValidationError');
  });
});

test('svc.json asks for 24 unless it says otherwise', async () => {
  const app = await App.deploy(service, {
    'm.ts':
      '"use node";\nimport {action} from "./_generated/server";\nexport const v = action(async () => process.version);\n',
  });
  expect(await app.action('m:v', {})).toMatch(/^v24\./);
});

nightly.test('a version that is not there and cannot be had refuses the deploy, with what to do', async () => {
  const poor = await Service.start({env: {SVC_NODE_20: '/nowhere/node', npm_config_offline: 'true', PATH: '/nowhere'}});
  try {
    const app = await App.empty(poor);
    const module =
      '"use node";\nimport {action} from "./_generated/server";\nexport const v = action(async () => 1);\n';
    const named = await app.tryDeploy({...onNode('20'), 'm.ts': module});
    expect(named.status).toBe(400);
    expect(named.text).toContain('SVC_NODE_20 of the server names an executable which cannot be run (ENOENT)');
    const missing = await app.tryDeploy({...onNode('26'), 'm.ts': module});
    expect(missing.status).toBe(400);
    expect(missing.text).toContain('Start the server with SVC_NODE_26 set to the path of a Node 26 executable');
  } finally {
    await poor.stop();
  }
});
