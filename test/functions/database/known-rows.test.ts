/** What a mutation has read or written is not read from the file again, and is never out of date. */
import fc from 'fast-check';
import {afterAll, expect, test, vi} from 'vitest';
import {KNOWN_ROW_CHARS_MAX, KNOWN_ROWS_MAX} from '../../../worker/runtime/limits.ts';
import {TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

const DOCUMENTS = KNOWN_ROWS_MAX + 16;
const step = fc.record({
  how: fc.constantFrom('get', 'patch', 'query', 'delete', 'insert'),
  at: fc.nat(DOCUMENTS - 1),
  chars: fc.constantFrom(0, 0, 0, KNOWN_ROW_CHARS_MAX),
});

test('documents that it reads, changes and reads again are as it left them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, {minLength: 1, maxLength: 3 * DOCUMENTS}), async steps => {
      const {name} = tenant.newTable([['place']]);
      const ids = await tenant.mutation(async db => {
        const made: string[] = [];
        for (let place = 0; place < DOCUMENTS; place++) made.push(await db.insert(name, {place, text: ''}));
        return made;
      });
      const texts = ids.map((): string | null => '');
      await tenant.mutation(async db => {
        for (const [number, {how, at, chars}] of steps.entries()) {
          const text = `${number}`.padEnd(chars, '.');
          const isThere = texts[at] !== null;
          if (how === 'insert' && !isThere) ids[at] = await db.insert(name, {place: at, text});
          else if (how === 'patch' && isThere) await db.patch(ids[at], {text});
          else if (how === 'delete' && isThere) await db.delete(ids[at]);
          if (how === 'insert' ? !isThere : how === 'patch' && isThere) texts[at] = text;
          else if (how === 'delete') texts[at] = null;
          const found =
            how === 'query'
              ? await db
                  .query(name)
                  .withIndex('place', (q: {eq: (field: string, value: number) => unknown}) => q.eq('place', at))
                  .unique()
              : await db.get(ids[at]);
          expect(found?.text ?? null).toBe(texts[at]);
        }
      });
      const stored = await tenant.query(db => db.query(name).collect());
      expect(new Map(stored.map(({place, text}) => [place, text]))).toEqual(
        new Map(texts.flatMap((text, place) => (text === null ? [] : [[place, text] as const]))),
      );
    }),
    {numRuns: 30},
  );
});

test('a mutation that was rolled back leaves nothing for the next one', async () => {
  const {name} = tenant.newTable();
  const id = await tenant.mutation(db => db.insert(name, {n: 1}));
  await expect(
    tenant.mutation(async db => {
      await db.patch(id, {n: 2});
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  await tenant.mutation(db => db.patch(id, {m: 3}));
  expect(await tenant.query(db => db.get(id))).toMatchObject({n: 1, m: 3});
});

test('a document that it got, found or wrote is patched without another read', async () => {
  const {name} = tenant.newTable([['n']]);
  const reads = vi.spyOn(tenant.writer, 'documentById');
  const readsOf = async (id: unknown, patch: () => Promise<unknown>) => {
    reads.mockClear();
    await patch();
    return reads.mock.calls.filter(([read]) => read === id).length;
  };
  await tenant.mutation(async db => {
    const id = await db.insert(name, {n: 1});
    expect(await readsOf(id, () => db.patch(id, {n: 2}))).toBe(0);
  });
  const id = await tenant.mutation(db => db.insert(name, {n: 3}));
  expect(await readsOf(id, () => tenant.mutation(db => db.patch(id, {n: 4})))).toBe(1);
  const got = tenant.mutation(async db => {
    await db.get(id);
    return await readsOf(id, () => db.patch(id, {n: 5}));
  });
  expect(await got).toBe(0);
  const found = tenant.mutation(async db => {
    await db.query(name).withIndex('n').collect();
    return await readsOf(id, () => db.patch(id, {n: 6}));
  });
  expect(await found).toBe(0);
  reads.mockRestore();
});
