/**
 * The types as libraries use them, held by `tsc`: code that is generic over tables, indexes and data models, written once for
 * every app. Nothing here knows a table by name but the lines that stand for the app.
 */
import {describe, expectTypeOf, test} from 'vitest';
import type {
  AnyDataModel,
  DocumentByInfo,
  FieldTypeFromFieldPath,
  GenericDatabaseReader,
  GenericDataModel,
  GenericTableInfo,
  Indexes,
  IndexNames,
  IndexRangeBuilder,
  NamedIndex,
  NamedTableInfo,
  OrderedQuery,
  Query,
  QueryInitializer,
  TableNamesInDataModel,
} from '../../../sdk/server/index.ts';
import type {DataModel, QueryCtx} from './sample-app.ts';

/** Type-checked, never run. */
function typesOnly(_body: (ctx: QueryCtx) => unknown): void {}

type TableInfoOf<Q extends OrderedQuery<GenericTableInfo>> = Q extends OrderedQuery<infer Info> ? Info : never;

/** Filters in memory, and hands on the kind of query that it was given. */
declare function filtered<Q extends OrderedQuery<GenericTableInfo>>(
  query: Q,
  predicate: (document: DocumentByInfo<TableInfoOf<Q>>) => boolean,
): Q;

describe('a function over queries of any table', () => {
  test('takes each kind of query of a table, and its types come back', () => {
    typesOnly(({db}) => {
      expectTypeOf(filtered(db.query('users'), () => true)).toExtend<
        QueryInitializer<NamedTableInfo<DataModel, 'users'>>
      >();
      const named = filtered(db.query('users').withIndex('by_name'), user => user.name !== '');
      expectTypeOf(named).toExtend<Query<NamedTableInfo<DataModel, 'users'>>>();
      expectTypeOf(filtered(db.query('messages').order('desc'), message => message.body !== '').first).toBeFunction();
      // @ts-expect-error no such field
      filtered(db.query('users'), user => user.nothing);
      // @ts-expect-error a document is no query
      filtered({_id: ''}, () => true);
    });
  });
  test('takes queries of a table that is a type parameter', () => {
    <Info extends GenericTableInfo>(query: OrderedQuery<Info>) => filtered(query, () => true);
  });
  test('the queries of one table are not those of another', () => {
    expectTypeOf<Query<NamedTableInfo<DataModel, 'users'>>>().not.toExtend<
      Query<NamedTableInfo<DataModel, 'messages'>>
    >();
  });
});

describe('an index that is a type parameter', () => {
  test('may be named by the keys of the table’s indexes', () => {
    <Info extends GenericTableInfo, Name extends keyof Indexes<Info>>(query: QueryInitializer<Info>, name: Name) =>
      query.withIndex(name);
    expectTypeOf<IndexNames<NamedTableInfo<DataModel, 'users'>>>().toEqualTypeOf<
      'by_name' | 'by_city_age' | 'by_id' | 'by_creation_time'
    >();
  });
  test('has eq and the bounds', () => {
    <
      Model extends GenericDataModel,
      Table extends TableNamesInDataModel<Model>,
      Name extends IndexNames<NamedTableInfo<Model, Table>>,
      Field extends NamedIndex<NamedTableInfo<Model, Table>, Name>[0],
    >(
      db: GenericDatabaseReader<Model>,
      table: Table,
      index: Name,
      field: Field,
      value: FieldTypeFromFieldPath<
        DocumentByInfo<NamedTableInfo<Model, Table>>,
        NamedIndex<NamedTableInfo<Model, Table>, Name>[0]
      >,
    ) => [
      db.query(table).withIndex(index, q => q.eq(field, value)),
      db.query(table).withIndex(index, q => q.gte(field, value).lt(field, value)),
      db.query(table).withIndex(index, q => q.neq(field, value)),
      db.query(table).withIndex(index, q => q),
    ];
  });
});

describe('the builder of an index range', () => {
  type Document = {a: string; b: number; _creationTime: number};
  type Start = IndexRangeBuilder<Document, ['a', 'b'], 0>;

  test('can be named with its position; without one it is at the first field', () => {
    expectTypeOf<Start>().toEqualTypeOf<IndexRangeBuilder<Document, ['a', 'b']>>();
    (start: Start) => {
      const second: IndexRangeBuilder<Document, ['a', 'b'], 1> = start.eq('a', 'x');
      second.eq('b', 1).gt('_creationTime', 5);
      // @ts-expect-error the first field is fixed already
      second.eq('a', 'y');
    };
  });
  test('a list that names the creation time itself ends with it', () => {
    (start: IndexRangeBuilder<Document, ['a', '_creationTime']>) => {
      const end = start.eq('a', 'x').eq('_creationTime', 1);
      // @ts-expect-error nothing follows
      end.gt('_creationTime', 1);
    };
  });
  test('the fields of an unknown index come in any number', () => {
    (db: GenericDatabaseReader<AnyDataModel>) => {
      db.query('t').withIndex('by', q => q.eq('a', 1).eq('b', 2).eq('c', 3).gt('d', 4));
    };
  });
});
