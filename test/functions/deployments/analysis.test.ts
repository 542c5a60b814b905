import {describe, expect, test} from 'vitest';
import type {FunctionEntry, Manifest} from '../../../shared/protocol/functions.ts';
import {SERVER, TenantDeployments} from './tenant-deployments.ts';

async function deployed(files: Record<string, string>): Promise<Manifest> {
  const tenant = new TenantDeployments();
  await tenant.deploy(files);
  return tenant.deployments.active!.manifest;
}

function entry(manifest: Manifest, path: string): FunctionEntry | undefined {
  return manifest.functions.find(known => known.path === path);
}

describe('a deployment has', () => {
  test('the registered functions its modules export, with kind, visibility and validators', async () => {
    const manifest = await deployed({
      'a/b.ts': `${SERVER}
        export const list = query({args: {n: v.number()}, returns: v.null(), handler: () => null});
        export const pages = paginatedQuery({args: {}, handler: () => null as never});
        export const hidden = internalMutation(() => null);
        export const constant = 5;
        export function helper() {}
        export class Thing {}
        export default action(async () => null);`,
      'helpers.ts': 'export const nothing = {isSvcFunction: true};',
      'http.ts': `${SERVER}
        export const hook = httpAction(async () => new Response(null));
        const http = httpRouter();
        http.route({pathPrefix: '/files/', method: 'GET', handler: hook});
        http.route({path: '/hook', method: 'POST', handler: hook});
        export default http;`,
      'schema.ts': `${SERVER}
        export default defineSchema({items: defineTable({n: v.number()}).index('by_n', ['n'])});`,
      'auth.config.ts': `export default {providers: [{domain: 'https://a.example', applicationID: 'app'}]};`,
    });
    const kinds = manifest.functions.map(({path, kind, visibility}) => `${path} ${visibility} ${kind}`);
    expect(kinds.sort()).toEqual([
      'a/b:default public action',
      'a/b:hidden internal mutation',
      'a/b:list public query',
      'a/b:pages public paginatedQuery',
      'http:hook public httpAction',
    ]);
    expect(entry(manifest, 'a/b:list')).toMatchObject({
      module: 'a/b',
      name: 'list',
      args: {type: 'object', value: {n: {fieldType: {type: 'number'}, optional: false}}},
      returns: {type: 'null'},
    });
    expect(entry(manifest, 'a/b:hidden')).toMatchObject({args: null, returns: null});
    expect(manifest.routes).toEqual([
      {method: 'POST', path: '/hook', pathPrefix: null, index: 0},
      {method: 'GET', path: null, pathPrefix: '/files/', index: 1},
    ]);
    expect(manifest.schema).toMatchObject({tables: [{name: 'items'}], schemaValidation: true});
    expect(manifest.authProviders).toEqual([{type: 'oidc', domain: 'https://a.example', applicationID: 'app'}]);
  });

  test('a hash for each function that changes with its module and what that imports, and with nothing else', async () => {
    const app = (shared: string, own: string) => ({
      'shared.ts': `export const text = '${shared}';`,
      'one.ts': `${SERVER} import {text} from './shared'; export const f = query(() => text);`,
      'two.ts': `${SERVER} import {text} from './shared'; export const f = query(() => text + '${own}');`,
      'three.ts': `${SERVER} export const f = query(() => null);`,
    });
    const hashes = async (shared: string, own: string) => {
      const manifest = await deployed(app(shared, own));
      return ['one:f', 'two:f', 'three:f'].map(path => entry(manifest, path)!.hash);
    };
    const first = await hashes('a', 'x');
    expect(await hashes('a', 'x')).toEqual(first);
    const [one, two, three] = await hashes('a', 'y');
    expect([one === first[0], two === first[1], three === first[2]]).toEqual([true, false, true]);
    const changed = await hashes('b', 'x');
    expect(changed.map((hash, i) => hash === first[i])).toEqual([false, false, true]);
  });

  test('modules that wait for something at load', async () => {
    const manifest = await deployed({
      'm.ts': `${SERVER} const n = await Promise.resolve(5); export const f = query({args: {n: v.literal(n)}, handler: () => n});`,
    });
    expect(entry(manifest, 'm:f')!.args).toEqual({
      type: 'object',
      value: {n: {fieldType: {type: 'literal', value: 5}, optional: false}},
    });
  });

  test('the variables of the tenant at import', async () => {
    const tenant = new TenantDeployments();
    await tenant.environment.set('ISSUER', 'https://a.example');
    await tenant.deploy({
      'auth.config.ts': `export default {providers: [{domain: process.env.ISSUER, applicationID: 'app'}]};`,
    });
    expect(tenant.deployments.active!.manifest.authProviders).toMatchObject([{domain: 'https://a.example'}]);
  });
});

const items = (fields: string, indexes: string) =>
  `${SERVER} export default defineSchema({items: defineTable(${fields})${indexes}});`;

describe('a schema is accepted', () => {
  test.each([
    ['an index into an object', '{a: v.object({b: v.string()})}', ".index('mine', ['a.b'])"],
    ['an index into an optional object', '{a: v.optional(v.object({b: v.string()}))}', ".index('mine', ['a.b'])"],
    [
      'an index into one member of a union',
      '{a: v.union(v.null(), v.object({b: v.string()}))}',
      ".index('mine', ['a.b'])",
    ],
    ['an index into any', '{a: v.any()}', ".index('mine', ['a.b.c'])"],
    [
      'the same fields in two orders',
      '{a: v.any(), b: v.any()}',
      ".index('mine', ['a', 'b']).index('other', ['b', 'a'])",
    ],
  ])('with %s', async (_, fields, indexes) => {
    const manifest = await deployed({'schema.ts': items(fields, indexes)});
    expect(manifest.schema!.tables[0]!.indexes[0]!.name).toBe('mine');
  });
});
