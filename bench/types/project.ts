/** The sources of a project of many modules, as an app's and its generated code look: what `tsc` is timed on. */

const FUNCTIONS_PER_MODULE = 6;

export type Project = Map<string, string>;

/** @param modules how many; there is a table for each fourth */
export function makeProject(modules: number): Project {
  const files: Project = new Map();
  const tables = Math.max(1, Math.ceil(modules / 4));
  const paths = Array.from({length: modules}, (_, i) => (i % 3 === 0 ? `m${i}` : `area${i % 10}/m${i}`));
  files.set('svc/schema.ts', schemaSource(tables));
  paths.forEach((path, i) => {
    files.set(`svc/${path}.ts`, moduleSource(path, i % tables));
  });
  files.set('svc/_generated/api.d.ts', apiSource(paths));
  files.set('svc/_generated/server.d.ts', SERVER);
  files.set('svc/_generated/dataModel.d.ts', DATA_MODEL);
  files.set('client.ts', clientSource(paths));
  return files;
}

function schemaSource(tables: number): string {
  const definitions = Array.from({length: tables}, (_, i) => {
    const other = (i + 1) % tables;
    return `  t${i}: defineTable({name: v.string(), other: v.id('t${other}'), at: v.number(), note: v.optional(v.string()), tags: v.array(v.string()), place: v.object({city: v.string(), zip: v.optional(v.string())}), state: v.union(v.literal('open'), v.literal('closed'), v.object({until: v.number()}))}).index('by_name', ['name']).index('by_city_at', ['place.city', 'at']),`;
  });
  return `import {defineSchema, defineTable} from 'svc/server';\nimport {v} from 'svc/values';\nexport default defineSchema({\n${definitions.join('\n')}\n});\n`;
}

function moduleSource(path: string, table: number): string {
  const up = path.includes('/') ? '../' : './';
  const head = `import {v} from 'svc/values';\nimport {paginationOptsValidator} from 'svc/server';\nimport {internalMutation, mutation, query} from '${up}_generated/server';\n`;
  const parts = Array.from({length: FUNCTIONS_PER_MODULE / 3}, (_, i) => functionsSource(table, i));
  return head + parts.join('');
}

function functionsSource(table: number, i: number): string {
  const t = `t${table}`;
  return `
export const list${i} = query({
  args: {city: v.string(), after: v.optional(v.number()), paginationOpts: paginationOptsValidator},
  handler: async (ctx, args) => {
    const page = await ctx.db.query('${t}').withIndex('by_city_at', q => q.eq('place.city', args.city).gt('at', args.after ?? 0)).filter(q => q.neq(q.field('state'), 'closed')).order('desc').paginate(args.paginationOpts);
    return {...page, page: page.page.map(({_id, name, tags}) => ({_id, name, tags}))};
  },
});
export const add${i} = mutation({
  args: {name: v.string(), other: v.id('${t}')},
  returns: v.id('${t}'),
  handler: async (ctx, args) => {
    const found = await ctx.db.query('${t}').withIndex('by_name', q => q.eq('name', args.name)).unique();
    if (found !== null) return found._id;
    const other = (await ctx.db.get(args.other))?.other;
    if (other === undefined) throw new Error('nothing there');
    return await ctx.db.insert('${t}', {name: args.name, other, at: 1, tags: [], place: {city: 'x'}, state: 'open'});
  },
});
export const close${i} = internalMutation({
  args: {id: v.id('${t}')},
  handler: async (ctx, {id}) => { await ctx.db.patch(id, {state: {until: 5}, note: undefined}); },
});
`;
}

function apiSource(paths: string[]): string {
  const name = (path: string): string => path.replaceAll('/', '_');
  const imports = paths.map(path => `import type * as ${name(path)} from '../${path}';`);
  const members = paths.map(path => `  '${path}': typeof ${name(path)};`);
  return `import type {ApiFromModules, FilterApi, FunctionReference} from 'svc/server';
${imports.join('\n')}
declare const fullApi: ApiFromModules<{
${members.join('\n')}
}>;
export declare const api: FilterApi<typeof fullApi, FunctionReference<any, 'public'>>;
export declare const internal: FilterApi<typeof fullApi, FunctionReference<any, 'internal'>>;
`;
}

const SERVER = `import type {MutationBuilder, QueryBuilder} from 'svc/server';
import type {DataModel} from './dataModel';
export declare const query: QueryBuilder<DataModel, 'public'>;
export declare const mutation: MutationBuilder<DataModel, 'public'>;
export declare const internalMutation: MutationBuilder<DataModel, 'internal'>;
`;

const DATA_MODEL = `import type {DataModelFromSchemaDefinition} from 'svc/server';
import type schema from '../schema';
export type DataModel = DataModelFromSchemaDefinition<typeof schema>;
`;

/** Uses one function of every module, as a front end would. */
function clientSource(paths: string[]): string {
  const uses = paths.map((path, i) => {
    const reference = `api.${path.replaceAll('/', '.')}`;
    return `export const a${i}: FunctionArgs<typeof ${reference}.add0>['name'] = 'x';\nexport type R${i} = FunctionReturnType<typeof ${reference}.list0>['page'][number]['tags'];`;
  });
  return `import type {FunctionArgs, FunctionReturnType} from 'svc/server';\nimport {api} from './svc/_generated/api';\n${uses.join('\n')}\n`;
}
