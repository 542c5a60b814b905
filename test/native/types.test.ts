/** What `svc/client` says of the service's types is what the service's own wire types say; and what it refuses. */
import type {Static} from 'typebox';
import {expect, expectTypeOf, test} from 'vitest';
import type {
  AnyTables,
  Changes,
  Doc,
  Filter,
  JournalRecord,
  NativeClient,
  Query,
  TransactionResult,
} from '../../sdk/native/index.ts';
import type {Document, FieldChanges} from '../../shared/protocol/documents.ts';
import type {JournalRecord as WireRecord} from '../../shared/protocol/journal.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import type {TransactionResult as WireResult} from '../../shared/protocol/transactions.ts';

type Note = {text: string; n?: number; tags?: string[]; by?: {name: string}};
type Tables = {notes: Note; orders: {by: string}};

/** Readonly or not is the reader's affair. */
type Mutable<T> = T extends object ? {-readonly [Member in keyof T]: Mutable<T[Member]>} : T;

test('what is asked for is what the service takes, and what comes is what it answers', () => {
  expectTypeOf<Mutable<Query<AnyTables[string]>> & {table: string; filters: []}>().toExtend<QueryObject>();
  expectTypeOf<Mutable<Filter<Note>>>().toExtend<QueryObject['filters'][number]>();
  expectTypeOf<keyof Changes<Note>>().toEqualTypeOf<keyof FieldChanges>();
  expectTypeOf<Document>().toExtend<Doc<Record<string, unknown>>>();
  expectTypeOf<WireRecord>().toExtend<JournalRecord>();
  expectTypeOf<keyof JournalRecord>().toEqualTypeOf<keyof WireRecord>();
  expectTypeOf<Static<typeof WireResult>['results'][number]>().toExtend<TransactionResult>();
  expect(refused).toBeTypeOf('function');
});

/** Never called: the compiler reads it. */
async function refused(db: NativeClient<Tables>): Promise<void> {
  const notes = await db.query('notes', {filters: [{field: 'n', op: 'gte', value: 1}]});
  expectTypeOf(notes).toEqualTypeOf<Doc<Note>[]>();
  expectTypeOf(notes[0]!._id).toEqualTypeOf<string>();
  expectTypeOf(await db.get('orders', 'a')).toEqualTypeOf<Doc<{by: string}> | null>();
  const selected = await db.query('notes', {select: ['text', 'by.name']});
  expectTypeOf(selected[0]!.text).toEqualTypeOf<string>();
  // @ts-expect-error it was not selected
  expectTypeOf(selected[0]!.n).toEqualTypeOf<number | undefined>();
  // @ts-expect-error there is no such field
  await db.query('notes', {select: ['texts']});
  // @ts-expect-error there is no such table
  await db.list('nots');
  // @ts-expect-error a field is missing
  await db.insert('orders', {});
  // @ts-expect-error a field is of another type
  await db.insert('notes', {text: 5});
  // @ts-expect-error there is no such field
  await db.query('notes', {filters: [{field: 'texts', op: 'eq', value: 'a'}]});
  // @ts-expect-error a value is of another type
  await db.query('notes', {filters: [{field: 'n', op: 'eq', value: 'a'}]});
  // @ts-expect-error there is no such operator
  await db.query('notes', {filters: [{field: 'n', op: 'like', value: 1}]});
  const [shown, count] = await db.queries([
    {table: 'notes', select: ['text']},
    {table: 'orders', count: true},
  ]);
  expectTypeOf(shown[0]!.text).toEqualTypeOf<string>();
  expectTypeOf(count).toEqualTypeOf<number>();
  // @ts-expect-error there is no such field in that table
  await db.queries([{table: 'orders', filters: [{field: 'n', op: 'eq', value: 1}]}]);
  await db.upsert('notes', {by: 'by_text'}, {text: ''}, {changes: {increment: {n: 1}}});
  // @ts-expect-error text is not incremented
  await db.upsert('notes', {by: 'by_text'}, {text: ''}, {changes: {increment: {text: 1}}});
  // @ts-expect-error text is not incremented
  await db.patch('notes', 'a', {increment: {text: 1}});
  // @ts-expect-error a number is not appended to
  await db.patch('notes', 'a', {append: {n: [1]}});
  await db.transaction(tx => {
    const order = tx.insert('orders', {by: 'ada'});
    tx.insert('notes', {text: order, tags: [order]});
    // @ts-expect-error a reference stands for text alone
    tx.insert('notes', {text: '', n: order});
  });
}
