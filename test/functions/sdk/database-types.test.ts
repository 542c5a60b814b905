/** The types of `ctx.db`, held by `tsc`: what must not compile is marked, and an unused mark does not compile either. */
import {describe, expectTypeOf, test} from 'vitest';
import type {
  AnyDataModel,
  DocumentByName,
  GenericMutationCtx,
  GenericQueryCtx,
  TableNamesInDataModel,
  WithoutSystemFields,
} from '../../../sdk/server/index.ts';
import type {GenericId} from '../../../sdk/values/index.ts';
import type {DataModel, MutationCtx, QueryCtx} from './sample-app.ts';

/** Type-checked, never run. */
function typesOnly(_body: (q: QueryCtx, m: MutationCtx) => unknown): void {}

type User = {
  _id: GenericId<'users'>;
  _creationTime: number;
  _updateTime: number;
  name: string;
  age?: number;
  address: {city: string; zip?: string};
  role: 'admin' | 'member';
};

describe('the data model of a schema', () => {
  test('documents have the declared fields and the system fields', () => {
    expectTypeOf<TableNamesInDataModel<DataModel>>().toEqualTypeOf<'users' | 'messages'>();
    expectTypeOf<DocumentByName<DataModel, 'users'>>().toEqualTypeOf<User>();
  });
  test('insert takes the declared fields only', () => {
    expectTypeOf<WithoutSystemFields<User>>().toEqualTypeOf<Omit<User, '_id' | '_creationTime' | '_updateTime'>>();
  });
  test('an id is a string that knows its table', () => {
    expectTypeOf<GenericId<'users'>>().toExtend<string>();
    expectTypeOf<GenericId<'users'>>().not.toExtend<GenericId<'messages'>>();
    expectTypeOf<string>().not.toExtend<GenericId<'users'>>();
  });
});

describe('ctx.db', () => {
  test('get and query give documents of their table', () => {
    typesOnly(async ({db}) => {
      const id = '' as GenericId<'users'>;
      expectTypeOf(await db.get(id)).toEqualTypeOf<User | null>();
      expectTypeOf(await db.query('users').collect()).toEqualTypeOf<User[]>();
      expectTypeOf(await db.query('users').first()).toEqualTypeOf<User | null>();
      expectTypeOf(await db.query('users').unique()).toEqualTypeOf<User | null>();
      expectTypeOf((await db.query('users').paginate({numItems: 1, cursor: null})).page).toEqualTypeOf<User[]>();
      for await (const user of db.query('users').order('desc')) expectTypeOf(user).toEqualTypeOf<User>();
      // @ts-expect-error no such table
      db.query('nothing');
      // @ts-expect-error not an id
      db.get('text');
    });
  });
  test('writes take values of their table', () => {
    typesOnly(async (_, {db}) => {
      const id = '' as GenericId<'users'>;
      const inserted = await db.insert('users', {name: 'a', address: {city: 'b'}, role: 'admin'});
      expectTypeOf(inserted).toEqualTypeOf<GenericId<'users'>>();
      // @ts-expect-error a field is missing
      db.insert('users', {name: 'a', role: 'admin'});
      // @ts-expect-error no such field
      db.insert('users', {name: 'a', address: {city: 'b'}, role: 'admin', other: 1});
      // @ts-expect-error an id of another table
      db.insert('messages', {author: '' as GenericId<'messages'>, body: ''});
      db.patch(id, {name: 'b'});
      db.patch(id, {age: undefined});
      // @ts-expect-error a field that may not be absent
      db.patch(id, {name: undefined});
      db.delete(id);
    });
  });
  test('queries cannot write', () => {
    typesOnly(({db}) => {
      // @ts-expect-error
      db.insert;
      // @ts-expect-error
      db.patch;
    });
  });
  test('what is not supported does not exist', () => {
    typesOnly((q, m) => {
      // @ts-expect-error
      m.db.replace;
      // @ts-expect-error
      m.db.system;
      // @ts-expect-error
      q.db.normalizeId;
      // @ts-expect-error
      q.db.table;
      // @ts-expect-error
      q.db.query('users').withSearchIndex;
      // @ts-expect-error
      q.scheduler;
      // @ts-expect-error
      m.storage;
      // @ts-expect-error
      m.runQuery;
    });
  });
});

describe('withIndex', () => {
  test('names and fields are those of the schema, in the order of the index', () => {
    typesOnly(({db}) => {
      const users = db.query('users');
      users.withIndex('by_name');
      users.withIndex('by_name', q => q);
      users.withIndex('by_creation_time', q => q.gt('_creationTime', 5));
      users.withIndex('by_id', q => q.eq('_id', '' as GenericId<'users'>));
      users.withIndex('by_city_age', q => q.eq('address.city', 'x').eq('age', 5).gt('_creationTime', 1));
      // @ts-expect-error no such index
      users.withIndex('by_age');
      // @ts-expect-error the first field comes first
      users.withIndex('by_city_age', q => q.eq('age', 5));
      // @ts-expect-error the value is not of the field's type
      users.withIndex('by_name', q => q.eq('name', 5));
      // @ts-expect-error nothing is left after the last field
      users.withIndex('by_name', q => q.eq('name', 'a').eq('_creationTime', 1).eq('_id', ''));
    });
  });
  test('an optional field may be compared with undefined, a required one may not', () => {
    typesOnly(({db}) => {
      const users = db.query('users');
      users.withIndex('by_city_age', q => q.eq('address.city', 'x').eq('age', undefined));
      // @ts-expect-error
      users.withIndex('by_name', q => q.eq('name', undefined));
    });
  });
  test('after the fixed fields come bounds on one field', () => {
    typesOnly(({db}) => {
      const users = db.query('users');
      users.withIndex('by_city_age', q => q.eq('address.city', 'x').gte('age', 1).lt('age', 9));
      users.withIndex('by_city_age', q => q.eq('address.city', 'x').gte('age', 1).lt('age', 9).neq('age', 5));
      users.withIndex('by_city_age', q => q.neq('address.city', 'x'));
      users.withIndex('by_city_age', q => q.neq('address.city', 'x').gt('address.city', 'a').lt('address.city', 'b'));
      // @ts-expect-error two lower bounds
      users.withIndex('by_name', q => q.gt('name', 'a').gt('name', 'b'));
      // @ts-expect-error two inequalities
      users.withIndex('by_name', q => q.neq('name', 'a').neq('name', 'b'));
      // @ts-expect-error eq after a bound
      users.withIndex('by_city_age', q => q.gt('address.city', 'a').eq('age', 1));
      // @ts-expect-error bounds on two fields
      users.withIndex('by_city_age', q => q.gt('address.city', 'a').lt('age', 1));
    });
  });
});

describe('filter', () => {
  test('fields have their types', () => {
    typesOnly(({db}) => {
      const users = db.query('users');
      users.filter(q => q.eq(q.field('name'), 'a'));
      users.filter(q => q.and(q.gt(q.field('age'), 3), q.not(q.eq(q.field('address.zip'), undefined))));
      users
        .filter(q => q.lt(q.add(1, q.mul(2, 3)), 7))
        .order('asc')
        .filter(() => true);
      users.filter(q => q.neq(q.field('_id'), '' as GenericId<'users'>));
      // @ts-expect-error no such field
      users.filter(q => q.eq(q.field('nothing'), 1));
      // @ts-expect-error another type
      users.filter(q => q.eq(q.field('name'), 1));
      // @ts-expect-error not a condition
      users.filter(q => q.field('name'));
      // @ts-expect-error arithmetic on text
      users.filter(q => q.eq(q.add(q.field('name'), 1), 1));
    });
  });
  test('any path into an untyped field is accepted', () => {
    typesOnly(({db}) => db.query('messages').filter(q => q.eq(q.field('extra.some.thing'), 1)));
  });
});

describe('without a schema', () => {
  test('every table and field is accepted', () => {
    ((_body: (q: GenericQueryCtx<AnyDataModel>, m: GenericMutationCtx<AnyDataModel>) => unknown) => {})(
      async ({db}, writer) => {
        const document = await db
          .query('anything')
          .withIndex('by_x', q => q.eq('a', 1).eq('b', 2).gt('c', 3))
          .first();
        expectTypeOf(document).toBeAny();
        db.query('anything').filter(q => q.eq(q.field('a.b'), 'c'));
        await writer.db.insert('anything', {a: 1});
        await writer.db.patch('' as GenericId<'anything'>, {b: 2});
      },
    );
  });
});
