/**
 * Random mixes of operations against a naive model of a tenant: a list of documents for each table. In the end what the
 * service lists is what the model holds, bootstrap and the journal after it make the same state, and the chain of digests
 * holds, recomputed from the text of the responses. A failure prints the seed and the path that repeat it.
 */
import fc from 'fast-check';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {COMPARISON_OPERATORS, type ComparisonOperator, type QueryObject} from '../../shared/protocol/queries.ts';
import type {Value} from '../../shared/values/value.ts';
import {bootstrap, canonical, checkChain, journalAfter, replay} from '../harness/journal.ts';
import {naiveResult} from '../harness/naive-query.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {type Doc, Tenant} from '../harness/tenant.ts';
import {nativeValue} from '../harness/values.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start({spares: 1});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

type Fields = Record<string, Value>;
type Operation =
  | {do: 'insert'; table: string; fields: Fields}
  | {do: 'patch' | 'delete' | 'get'; table: string; pick: number; fields: Fields}
  | {do: 'query'; table: string; op: ComparisonOperator; value: Value; direction: 'asc' | 'desc'; limit: number}
  | {do: 'bootstrap' | 'schema'; table: string; indexed: boolean};

const table = fc.constantFrom('t', 'u');
const value = fc.oneof(fc.constantFrom<Value>(null, 0, 1, 2, 'x', 'y', [1], {}), nativeValue);
const fields = fc.record(
  {a: value, b: value, 'c.d': value, '10': value},
  {requiredKeys: [], noNullPrototype: false},
) as fc.Arbitrary<Fields>;
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {arbitrary: fc.record({do: fc.constant('insert' as const), table, fields}), weight: 6},
  {
    arbitrary: fc.record({
      do: fc.constantFrom('patch' as const, 'delete' as const, 'get' as const),
      table,
      pick: fc.nat(),
      fields,
    }),
    weight: 8,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('query' as const),
      table,
      op: fc.constantFrom(...COMPARISON_OPERATORS),
      value,
      direction: fc.constantFrom('asc' as const, 'desc' as const),
      limit: fc.integer({min: 1, max: 10}),
    }),
    weight: 4,
  },
  {
    arbitrary: fc.record({do: fc.constantFrom('bootstrap' as const, 'schema' as const), table, indexed: fc.boolean()}),
    weight: 1,
  },
);

/** Tables as lists in order of creation. Values are what JSON makes of them. */
class Model {
  readonly tables: Record<string, {id: string; fields: Fields}[]> = {t: [], u: []};

  pick(table: string, pick: number) {
    const docs = this.tables[table]!;
    return docs[pick % Math.max(1, docs.length)];
  }

  query(query: QueryObject): string[] {
    const docs = this.tables[query.table]!.map(({id, fields}, i) => ({...fields, _id: id, _creationTime: i}));
    return naiveResult(docs, query).map(doc => doc._id);
  }
}

function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

const text = (docs: Doc[]) => docs.map(({_id, _creationTime, _updateTime, ...own}) => [_id, canonical(own)]);

async function apply(tenant: Tenant, model: Model, operation: Operation): Promise<void> {
  const docs = model.tables[operation.table]!;
  switch (operation.do) {
    case 'insert': {
      const id = await tenant.insert(operation.table, operation.fields);
      docs.push({id, fields: plain(operation.fields)});
      return;
    }
    case 'patch':
    case 'delete':
    case 'get': {
      const doc = model.pick(operation.table, operation.pick);
      if (doc === undefined) return;
      if (operation.do === 'get') {
        expect(text([await tenant.get(operation.table, doc.id)])).toEqual([[doc.id, canonical(doc.fields)]]);
      } else if (operation.do === 'patch') {
        await tenant.patch(operation.table, doc.id, operation.fields);
        Object.assign(doc.fields, plain(operation.fields));
      } else {
        await tenant.delete(operation.table, doc.id);
        docs.splice(docs.indexOf(doc), 1);
      }
      return;
    }
    case 'query': {
      const {table, op, value, direction, limit} = operation;
      const query = {table, filters: [{field: 'a', op, value}], order: {field: 'a', direction}, limit};
      expect((await tenant.query(query)).map(doc => doc._id)).toEqual(model.query(query));
      return;
    }
    case 'schema':
      await tenant.putSchema(operation.table, [], operation.indexed ? [{name: 'by_a', fields: ['a']}] : []);
      return;
    case 'bootstrap':
      expect(text((await bootstrap(tenant)).snapshot.documents[operation.table] ?? []).map(([id]) => id)).toEqual(
        docs.map(doc => doc.id),
      );
      return;
  }
}

test('whatever is done in whatever order, lists, queries, bootstrap and journal tell what the model tells', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, {minLength: 20, maxLength: 80, size: 'max'}),
      fc.nat(),
      async (operations, cut) => {
        const tenant = await Tenant.make(service);
        const model = new Model();
        const fresh = await bootstrap(tenant);
        const middle = cut % operations.length;
        let halfway = fresh;
        for (const [i, step] of operations.entries()) {
          await apply(tenant, model, step);
          if (i === middle) halfway = await bootstrap(tenant);
        }
        for (const [name, docs] of Object.entries(model.tables)) {
          const listed = await tenant.list(name);
          expect(text(listed)).toEqual(docs.map(doc => [doc.id, canonical(doc.fields)]));
          for (const start of [fresh, halfway, await bootstrap(tenant)]) {
            const {records} = await journalAfter(tenant, start.resume_after_sequence);
            expect((replay(start, records).get(name) ?? []).map(canonical)).toEqual(listed.map(canonical));
          }
        }
        const {records, texts} = await journalAfter(tenant, 0, 7);
        expect(records.map(record => record.sequence)).toEqual(records.map((_, i) => i + 1));
        checkChain(texts);
        await service.request('DELETE', `/api/tenants/${tenant.id}`);
      },
    ),
    {numRuns: rounds({commit: 4, nightly: 30})},
  );
});

test('writers at once: each write is in the journal once, and the list is the journal replayed', async () => {
  const clients = fc.array(fc.array(operation, {minLength: 10, maxLength: 25, size: 'max'}), {
    minLength: 8,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(clients, async clientOperations => {
      const tenant = await Tenant.make(service);
      const fresh = await bootstrap(tenant);
      // Each client writes documents of its own, so each has a model of its own that must come true.
      const models = await Promise.all(
        clientOperations.map(async operations => {
          const model = new Model();
          for (const step of operations) {
            if (step.do !== 'query' && step.do !== 'bootstrap') await apply(tenant, model, step);
          }
          return model;
        }),
      );
      const {records, texts} = await journalAfter(tenant, 0);
      checkChain(texts);
      for (const name of ['t', 'u']) {
        const listed = await tenant.list(name);
        expect((replay(fresh, records).get(name) ?? []).map(canonical)).toEqual(listed.map(canonical));
        const expected = models.flatMap(model => model.tables[name]!.map(doc => [doc.id, canonical(doc.fields)]));
        expect(text(listed).sort()).toEqual(expected.sort());
      }
      await service.request('DELETE', `/api/tenants/${tenant.id}`);
    }),
    {numRuns: rounds({commit: 2, nightly: 10})},
  );
});
