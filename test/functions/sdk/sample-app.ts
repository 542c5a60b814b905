/** A schema and registrars as generated code would make them: what the type tests look at. */
import {
  type ActionBuilder,
  actionGeneric,
  type DataModelFromSchemaDefinition,
  defineSchema,
  defineTable,
  type GenericMutationCtx,
  type GenericQueryCtx,
  type MutationBuilder,
  mutationGeneric,
  type PaginatedQueryBuilder,
  paginatedQueryGeneric,
  type QueryBuilder,
  queryGeneric,
} from '../../../sdk/server/index.ts';
import {v} from '../../../sdk/values/index.ts';

export const schema = defineSchema({
  users: defineTable({
    name: v.string(),
    age: v.optional(v.number()),
    address: v.object({city: v.string(), zip: v.optional(v.string())}),
    role: v.union(v.literal('admin'), v.literal('member')),
  })
    .index('by_name', ['name'])
    .index('by_city_age', ['address.city', 'age']),
  messages: defineTable({author: v.id('users'), body: v.string(), extra: v.optional(v.any())}).index('by_author', [
    'author',
  ]),
});

export type DataModel = DataModelFromSchemaDefinition<typeof schema>;
export type QueryCtx = GenericQueryCtx<DataModel>;
export type MutationCtx = GenericMutationCtx<DataModel>;

export const query: QueryBuilder<DataModel, 'public'> = queryGeneric;
export const mutation: MutationBuilder<DataModel, 'public'> = mutationGeneric;
export const action: ActionBuilder<DataModel, 'public'> = actionGeneric;
export const paginatedQuery: PaginatedQueryBuilder<DataModel, 'public'> = paginatedQueryGeneric;
