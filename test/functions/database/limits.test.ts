/** How much one execution may read and write, that going beyond is remembered, and that coming near is said. */
import {afterAll, describe, expect, test} from 'vitest';
import {type Db, errorOf, type FilterBuilder, TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

const {name: many} = tenant.newTable();
const {name: large} = tenant.newTable();
const {name: empty} = tenant.newTable();
await tenant.mutation(async db => {
  for (let n = 0; n < 15_999; n++) await db.insert(many, {n});
});
await tenant.mutation(async db => {
  for (let n = 16_000; n <= 32_001; n++) tenant.writer.insert(tenant.writer.table(many), {n}, `{"n":${n}}`);
  return db;
});
for (let n = 0; n < 17; n++) tenant.insertNative(tenant.writer.table(large), {x: 'x'.repeat(2 ** 20 - 100)});

const repeated = async (count: number, call: () => Promise<unknown>) => {
  for (let i = 0; i < count; i++) await call();
};

test('9,000 documents can be collected', async () => {
  const found = await tenant.query(db => db.query(many).take(9_000));
  expect(found).toHaveLength(9_000);
  expect(await tenant.query(db => db.query(many).take(32_000))).toHaveLength(32_000);
});

describe('beyond a limit the call fails, and that is remembered', () => {
  test.each<[string, (db: Db) => Promise<unknown>, string]>([
    [
      'documents',
      db => db.query(many).collect(),
      'Too many documents read in a single function execution (limit: 32000)',
    ],
    [
      'documents that a filter left out',
      db =>
        db
          .query(many)
          .filter((q: FilterBuilder) => q.eq!(q.field!('n'), -1))
          .first(),
      'Too many documents read in a single function execution (limit: 32000)',
    ],
    ['bytes', db => db.query(large).collect(), 'Too many bytes read in a single function execution (limit: 16777216)'],
    [
      'gets and queries',
      db => repeated(4_097, () => db.query(empty).first()),
      'Too many reads in a single function execution (limit: 4096)',
    ],
  ])('%s read', async (_, read, message) => {
    const error = await tenant.query(db => errorOf(() => read(db)));
    expect(error).toBe(`Error: ${message}`);
    expect(tenant.reads.limitExceeded).toBe(message);
    expect(tenant.reads.takeWarnings()).toEqual([]);
    await tenant.query(db => db.query(many).first());
    expect(tenant.reads.limitExceeded).toBeNull();
  });

  test.each<[string, (db: Db) => Promise<unknown>, string]>([
    [
      'documents',
      db => repeated(16_001, () => db.insert(empty, {})),
      'Too many writes in a single function execution (limit: 16000)',
    ],
    [
      'bytes',
      db => repeated(17, () => db.insert(empty, {x: 'é'.repeat(500_000)})),
      'Too many bytes written in a single function execution (limit: 16777216)',
    ],
  ])('%s written', async (_, write, message) => {
    await expect(
      tenant.mutation(async db => {
        expect(await errorOf(() => write(db))).toBe(`Error: ${message}`);
        expect(tenant.writes.limitExceeded).toBe(message);
        throw new Error('taken back');
      }),
    ).rejects.toThrow('taken back');
    expect(await tenant.query(db => db.query(empty).first())).toBeNull();
  });
});

describe('near a limit there is a line for the log', () => {
  test('once, after the execution', async () => {
    await tenant.query(db => db.query(many).take(25_600));
    expect(tenant.reads.takeWarnings()).toEqual([
      '[WARN] Many documents read in a single function execution (actual: 25600, limit: 32000)',
    ]);
    expect(tenant.reads.takeWarnings()).toEqual([]);
    await tenant.query(db => db.query(many).take(25_599));
    expect(tenant.reads.takeWarnings()).toEqual([]);
  });
});

test('an iteration that stops early has read what it was given and little more', async () => {
  await tenant.query(async db => {
    for await (const _ of db.query(many)) break;
    expect(await db.query(many).take(31_984)).toHaveLength(31_984);
    expect(await errorOf(() => db.query(many).first())).toContain('Too many documents read');
  });
});
