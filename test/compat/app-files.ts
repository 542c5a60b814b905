/** Functions as apps write them with libraries made for Convex. Path in the project → source. */
export const HELPERS: Record<string, string> = {
  'svc/schema.ts': `
import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';
export default defineSchema({
  notes: defineTable({owner: v.string(), text: v.string()}).index('owner', ['owner']),
  people: defineTable({name: v.string()}).index('name', ['name']),
  counts: defineTable({owner: v.string(), notes: v.number()}).index('owner', ['owner']),
});`,
  'svc/helpers.ts': `
import {customCtx, customMutation, customQuery, NoOp} from 'convex-helpers/server/customFunctions';
import {crud as crudOf} from 'convex-helpers/server/crud';
import {getManyFrom, getOneFrom} from 'convex-helpers/server/relationships';
import {wrapDatabaseReader, wrapDatabaseWriter} from 'convex-helpers/server/rowLevelSecurity';
import {SessionIdArg} from 'convex-helpers/server/sessions';
import {mergedStream, stream} from 'convex-helpers/server/stream';
import {Triggers} from 'convex-helpers/server/triggers';
import {zCustomQuery} from 'convex-helpers/server/zod4';
import {v} from 'svc/values';
import {z} from 'zod';
import {mutation, query} from './_generated/server';
import schema from './schema';

const triggers = new Triggers();
triggers.register('notes', async (ctx, change) => {
  const {owner} = change.newDoc ?? change.oldDoc;
  const count = await getOneFrom(ctx.db, 'counts', 'owner', owner);
  const by = change.operation === 'insert' ? 1 : change.operation === 'delete' ? -1 : 0;
  if (count === null) await ctx.db.insert('counts', {owner, notes: by});
  else await ctx.db.patch('counts', count._id, {notes: count.notes + by});
});
const counted = customMutation(mutation, customCtx(triggers.wrapDB));
export const add = counted({
  args: {owner: v.string(), text: v.string()},
  handler: (ctx, note) => ctx.db.insert('notes', note),
});
export const change = counted({args: {id: v.id('notes'), text: v.string()}, handler: (ctx, {id, text}) => ctx.db.patch(id, {text})});
export const remove = counted({args: {id: v.id('notes')}, handler: (ctx, {id}) => ctx.db.delete(id)});
export const count = query({args: {owner: v.string()}, handler: async (ctx, {owner}) =>
  (await getOneFrom(ctx.db, 'counts', 'owner', owner))?.notes ?? 0});

const rules = who => ({
  notes: {
    read: async (_, note) => note.owner === who,
    modify: async (_, note) => note.owner === who,
    insert: async (_, note) => note.owner === who,
  },
});
const asWho = {args: {who: v.string()}};
const guardedQuery = customQuery(query, {...asWho, input: async (ctx, {who}) => ({ctx: {db: wrapDatabaseReader(ctx, ctx.db, rules(who))}, args: {}})});
const guardedMutation = customMutation(mutation, {...asWho, input: async (ctx, {who}) => ({ctx: {db: wrapDatabaseWriter(ctx, ctx.db, rules(who))}, args: {}})});
export const mine = guardedQuery({args: {}, handler: async ctx => (await ctx.db.query('notes').collect()).map(note => note.text)});
export const rewrite = guardedMutation({args: {id: v.id('notes'), text: v.string()}, handler: (ctx, {id, text}) => ctx.db.patch(id, {text})});

export const merged = query({args: {owners: v.array(v.string())}, handler: async (ctx, {owners}) => {
  const streams = owners.map(owner => stream(ctx.db, schema).query('notes').withIndex('owner', q => q.eq('owner', owner)));
  return (await mergedStream(streams, ['_creationTime']).collect()).map(note => note.text);
}});

const inSession = customMutation(mutation, {args: SessionIdArg, input: async (ctx, {sessionId}) => ({ctx: {...ctx, sessionId}, args: {}})});
export const join = inSession({args: {}, handler: ctx => ctx.db.insert('people', {name: ctx.sessionId})});

export const shout = zCustomQuery(query, NoOp)({args: {text: z.string().min(2), times: z.number().optional()}, handler: async (_, {text, times = 1}) =>
  text.toUpperCase().repeat(times)});
export const ofOwner = query({args: {owner: v.string()}, handler: async (ctx, {owner}) =>
  (await getManyFrom(ctx.db, 'notes', 'owner', owner)).map(note => note.text)});
export const {create, read, update, destroy} = crudOf(schema, 'people', query, mutation);

export const normalized = query({args: {id: v.string()}, handler: async (ctx, {id}) =>
  [ctx.db.normalizeId('notes', id) !== null, ctx.db.normalizeId('people', id) !== null]});
export const crossed = query({args: {id: v.id('notes')}, handler: (ctx, {id}) => ctx.db.get('people', id)});
export const system = query({args: {}, handler: ctx => ctx.db.system.query('_storage')});
`,
};

export const ENTS: Record<string, string> = {
  'svc/schema.ts': `
import {defineEnt, defineEntSchema, getEntDefinitions} from 'convex-ents';
import {v} from 'svc/values';
const schema = defineEntSchema({
  users: defineEnt({name: v.string()}).field('email', v.string(), {unique: true}).edges('posts', {ref: true}),
  posts: defineEnt({title: v.string()}).edge('user'),
});
export default schema;
export const entDefinitions = getEntDefinitions(schema);`,
  'svc/ents.ts': `
import {entsTableFactory} from 'convex-ents';
import {customCtx, customMutation, customQuery} from 'convex-helpers/server/customFunctions';
import {v} from 'svc/values';
import {mutation as rawMutation, query as rawQuery} from './_generated/server';
import {entDefinitions} from './schema';
const withTable = customCtx(async ctx => ({table: entsTableFactory(ctx, entDefinitions)}));
const query = customQuery(rawQuery, withTable);
const mutation = customMutation(rawMutation, withTable);
export const write = mutation({args: {name: v.string(), title: v.string()}, handler: async (ctx, {name, title}) => {
  const user = await ctx.table("users").get("email", name + "@example.com");
  const id = user?._id ?? (await ctx.table('users').insert({name, email: name + '@example.com'}));
  await ctx.table('posts').insert({title, userId: id});
  return id;
}});
export const posts = query({args: {id: v.id('users')}, handler: async (ctx, {id}) =>
  (await ctx.table('users').getX(id).edge('posts')).map(post => post.title)});
export const again = mutation({args: {name: v.string()}, handler: (ctx, {name}) =>
  ctx.table('users').insert({name, email: name + '@example.com'})});
`,
};

/** A page, to be bundled: the hooks of the libraries find what they import. */
export const PAGE = `
export {ConvexQueryClient, convexQuery, useConvexMutation, useConvexPaginatedQuery} from '@convex-dev/react-query';
export {ConvexQueryCacheProvider, useQuery} from 'convex-helpers/react/cache';
export {SessionProvider, useSessionQuery} from 'convex-helpers/react/sessions';
export {ConvexProvider, ConvexReactClient, optimisticallyUpdateValueInPaginatedQuery} from 'convex/react';
export {QueryClient} from '@tanstack/react-query';
`;
