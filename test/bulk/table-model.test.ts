/**
 * Drops and renames among other writes, held against a model that has maps. The drops get their pages when the test says so, two documents
 * each, so that anything may happen between any two slices, the end of the process, too.
 */
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {BackgroundWrites} from '../../engine/commit/background.ts';
import {deleteEffect, insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import {cancelJob, scheduleJob} from '../../engine/scheduler/jobs.ts';
import {checkedMutation} from '../../engine/scheduler/work.ts';
import {storedSchema} from '../../engine/schema/read.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {DOCS_PER_TABLE} from '../../engine/storage/tables.sql.ts';
import {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import type {PaginatedQueryBody} from '../../shared/protocol/queries.ts';
import type {Mutation} from '../../shared/protocol/schedule.ts';
import type {Task} from '../../shared/protocol/tasks.ts';
import {Tasks} from '../../worker/api/bulk/tasks/tasks.ts';
import {TenantDeployments} from '../functions/deployments/tenant-deployments.ts';
import {replay} from '../harness/journal.ts';
import {rounds} from '../harness/nightly.ts';

const NAMES = ['a', 'b', 'c'];
const log = createLogger({}, {write: () => undefined});
type Documents = Map<string, number>;
type Drop = {id: string; table: string; asked: Set<string>};

/** The tenant with its tasks, which wait for the test at each page. */
class Tenant {
  readonly parts: TenantDeployments;
  readonly tasks: Tasks;
  readonly #waiting: (() => void)[] = [];

  constructor(parts = new TenantDeployments()) {
    this.parts = parts;
    const background = new BackgroundWrites(parts.groups, log, (_, error) => {
      throw error;
    });
    this.tasks = new Tasks(parts.writer.db, background, parts.schemas, body => this.#page(body));
    this.tasks.wake();
  }

  async #page({query, after = '0'}: PaginatedQueryBody): Promise<string> {
    await new Promise<void>(resolve => this.#waiting.push(resolve));
    const {info} = this.parts.catalog.table(query.table) ?? {info: {lowDoc: 0, highDoc: 0}};
    const rows = this.parts.writer.documentsFrom(Math.max(info.lowDoc, Number(after)), info.highDoc, 2);
    const next = rows.length < 2 ? null : String(rows[1]!.doc);
    return JSON.stringify({data: rows.map(({id}) => ({_id: id})), next_cursor: next});
  }

  /** One slice, if a task is under way. */
  async step(): Promise<void> {
    this.#waiting.shift()?.();
    await this.rests();
  }

  /** Resolves when nothing happens any more until the next step. */
  async rests(): Promise<void> {
    for (let turns = 0; this.#waiting.length === 0 && this.tasks.hasWork; turns++) {
      if (turns === 100_000) throw new Error('a task neither ends nor asks for a page');
      await nextTurn();
    }
    await this.parts.groups.settled();
  }

  async killed(): Promise<Tenant> {
    this.tasks.stop();
    return new Tenant(await this.parts.killed());
  }

  get running(): boolean {
    return this.tasks.hasWork;
  }

  documents(name: string, catalog = this.parts.catalog): Documents {
    const table = catalog.table(name);
    if (table === undefined) return new Map();
    const rows = this.parts.writer.documentsFrom(table.info.lowDoc, table.info.highDoc, 1_000);
    return new Map(rows.map(({id, body}) => [id, (JSON.parse(body) as {n: number}).n]));
  }

  schema(name: string, catalog = this.parts.catalog): boolean {
    const table = catalog.table(name);
    return table !== undefined && storedSchema(table) !== null;
  }
}

const name = fc.constantFrom(...NAMES);
const step = fc.oneof(
  {weight: 6, arbitrary: fc.record({do: fc.constant('insert' as const), name, n: fc.nat(9)})},
  {
    weight: 4,
    arbitrary: fc.record({do: fc.constantFrom('patch' as const, 'remove' as const), pick: fc.nat(), n: fc.nat(9)}),
  },
  {
    weight: 2,
    arbitrary: fc.record({do: fc.constantFrom('put' as const, 'deploy' as const, 'undeploy' as const), name}),
  },
  {weight: 4, arbitrary: fc.record({do: fc.constant('drop' as const), name})},
  {weight: 4, arbitrary: fc.record({do: fc.constant('rename' as const), name, by: fc.constantFrom(1, 2)})},
  {weight: 8, arbitrary: fc.record({do: fc.constant('step' as const)})},
  {weight: 1, arbitrary: fc.record({do: fc.constantFrom('kill' as const, 'cancel' as const)})},
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What should be there. */
class Model {
  readonly documents = new Map<string, Documents>(NAMES.map(each => [each, new Map()]));
  readonly schemas = new Map<string, 'native' | 'deployed'>();
  drops: Drop[] = [];

  all(): [table: string, id: string][] {
    return [...this.documents].flatMap(([table, docs]) => [...docs.keys()].map(id => [table, id] as [string, string]));
  }

  isThere(table: string): boolean {
    return this.schemas.has(table) || this.documents.get(table)!.size > 0;
  }

  isBusy(...tables: string[]): boolean {
    return this.drops.some(({table}) => tables.includes(table));
  }

  isDeployed(...tables: string[]): boolean {
    return tables.some(table => this.schemas.get(table) === 'deployed');
  }
}

/** The code that it is refused with, or null. */
async function refusal(change: Promise<unknown>): Promise<string | null> {
  try {
    await change;
    return null;
  } catch (caught) {
    if (caught instanceof ServiceError) return caught.code;
    throw caught;
  }
}

async function perform(tenant: Tenant, model: Model, op: Step): Promise<void> {
  const {groups, schemas} = tenant.parts;
  switch (op.do) {
    case 'insert': {
      const id = await groups.perform(insertEffect(op.name, {n: op.n}));
      model.documents.get(op.name)!.set(String(id), op.n);
      return;
    }
    case 'patch':
    case 'remove': {
      const all = model.all();
      const [table, id] = all[op.pick % Math.max(1, all.length)] ?? ['a', 'nobody'];
      const patch = patchEffect(table, id, {patch: {n: op.n}});
      const effect = op.do === 'patch' ? (writer: Writer) => patch(writer).id : deleteEffect(table, id);
      const isThere = model.documents.get(table)!.has(id);
      expect(await refusal(groups.perform(effect))).toBe(isThere ? null : 'op.not_found');
      if (op.do === 'remove') model.documents.get(table)!.delete(id);
      else if (isThere) model.documents.get(table)!.set(id, op.n);
      return;
    }
    case 'put': {
      const also = (writer: Writer) => tenant.tasks.schemaSet(writer, op.name);
      const put = schemas.put(op.name, {table: op.name, fields: [], indexes: [{name: 'by_n', fields: ['n']}]}, also);
      expect(await refusal(put)).toBe(model.isDeployed(op.name) ? 'op.conflict' : null);
      if (model.isDeployed(op.name)) return;
      model.schemas.set(op.name, 'native');
      for (const {id} of model.drops.filter(({table}) => table === op.name))
        expect(tenant.tasks.get(tenant.parts.writer.db, id).state).toBe('failed');
      return;
    }
    case 'deploy':
    case 'undeploy': {
      const tables = op.do === 'deploy' ? [{name: op.name, document: {type: 'any' as const}, indexes: []}] : [];
      await tenant.parts.deploySchema({tables, schemaValidation: true});
      for (const [table, kind] of model.schemas) if (kind === 'deployed') model.schemas.delete(table);
      if (op.do === 'deploy') model.schemas.set(op.name, 'deployed');
      return;
    }
    case 'drop': {
      const made = groups.perform(tenant.tasks.madeDrop(op.name));
      // One that is being dropped may have lost its last document to another writer: it is none, then.
      const isNone = !model.isThere(op.name);
      const code = isNone ? 'op.not_found' : model.isDeployed(op.name) || model.isBusy(op.name) ? 'op.conflict' : null;
      expect(await refusal(made)).toBe(code);
      if (code !== null) return;
      model.drops.push({id: await made, table: op.name, asked: new Set(model.documents.get(op.name)!.keys())});
      tenant.tasks.wake();
      return;
    }
    case 'rename': {
      const to = NAMES[(NAMES.indexOf(op.name) + op.by) % NAMES.length]!;
      const renamed = schemas.rename(op.name, to, change =>
        groups.perform(writer => {
          tenant.tasks.refuseRunning(writer, [op.name, to]);
          change(writer);
        }),
      );
      const isRefused = model.isThere(to) || model.isDeployed(op.name, to);
      const code = model.isBusy(op.name, to)
        ? 'op.conflict'
        : model.isThere(op.name)
          ? isRefused
            ? 'op.conflict'
            : null
          : 'op.not_found';
      expect(await refusal(renamed)).toBe(code);
      if (code !== null) return;
      model.documents.set(to, model.documents.get(op.name)!);
      model.documents.set(op.name, new Map());
      if (model.schemas.delete(op.name)) model.schemas.set(to, 'native');
      return;
    }
    case 'cancel': {
      const [drop] = model.drops;
      if (drop !== undefined) await groups.perform(tenant.tasks.cancelled(drop.id));
      return;
    }
    case 'step':
    case 'kill':
      await tenant.step();
  }
}

/** Drops may have taken what was there when they were asked for; everything else is as the model has it. */
function compare(tenant: Tenant, model: Model): void {
  const ended: [Drop, Task][] = [];
  for (const table of NAMES) {
    const [found, known] = [tenant.documents(table), model.documents.get(table)!];
    for (const id of known.keys()) {
      if (found.has(id) || !model.drops.some(drop => drop.table === table && drop.asked.has(id))) continue;
      known.delete(id);
    }
    expect([table, [...found]]).toEqual([table, [...known]]);
  }
  for (const drop of model.drops) {
    const task = tenant.tasks.get(tenant.parts.writer.db, drop.id);
    if (task.state === 'running') continue;
    ended.push([drop, task]);
    if (task.state !== 'completed') continue;
    expect(model.documents.get(drop.table)).toEqual(new Map());
    model.schemas.delete(drop.table);
  }
  model.drops = model.drops.filter(drop => !ended.some(([one]) => one === drop));
  for (const table of NAMES) expect([table, tenant.schema(table)]).toEqual([table, model.schemas.has(table)]);
}

test('what nobody asked to be dropped is there under its name, and the journal tells all of it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, {minLength: 5, maxLength: 50, size: 'max'}), async steps => {
      let tenant = new Tenant();
      const model = new Model();
      for (const op of steps) {
        await perform(tenant, model, op);
        if (op.do === 'kill') tenant = await tenant.killed();
        await tenant.rests();
        compare(tenant, model);
      }
      for (let slices = 0; tenant.running && slices < 200; slices++) {
        await tenant.step();
        compare(tenant, model);
      }
      expect(model.drops).toEqual([]);
      const {db} = tenant.parts.writer;
      const fresh = Catalog.read(db);
      for (const table of NAMES) {
        expect(tenant.documents(table, fresh)).toEqual(model.documents.get(table));
        expect(tenant.schema(table, fresh)).toBe(model.schemas.has(table));
        const {number, documents = 0} = fresh.table(table) ?? {};
        expect(documents).toBe(model.documents.get(table)!.size);
        const of = db.prepare<[number], number>(`SELECT count(*) FROM documents WHERE doc / ${DOCS_PER_TABLE} = ?`);
        if (number !== undefined) expect(of.pluck().get(number)).toBe(documents);
      }
      const texts = db.prepare<[], string>('SELECT record FROM journal ORDER BY sequence').pluck().all();
      const records = texts.map(text => JSON.parse(text) as JournalRecord);
      const followed = replay({snapshot: {documents: {}}} as never, records);
      for (const table of NAMES) {
        const numbers = (followed.get(table) ?? []).map(({_id, n}) => [_id, n]);
        expect(numbers).toEqual([...model.documents.get(table)!]);
      }
    }),
    {numRuns: rounds({commit: 15, nightly: 60}), endOnFailure: true},
  );
});

test('a rename sees a job that was made after it looked for one, and before its write', async () => {
  const {groups, schemas} = new Tenant().parts;
  const mutation = (table: string): Mutation => ({type: 'insert', table, fields: {}});
  const job = (table: string) =>
    groups.perform(writer => scheduleJob(writer, 1_800_000_000_000, 3_600_000, checkedMutation(mutation(table))));
  await groups.perform(insertEffect('a', {n: 1}));
  await job('b');
  let late = '';
  const renamed = schemas.rename('a', 'c', async change => {
    late = await job('a');
    await groups.perform(change);
  });
  expect(await renamed.catch((caught: unknown) => caught)).toMatchObject({code: 'op.conflict', detail: {job: late}});
  await groups.perform(writer => cancelJob(writer, late));
  await schemas.rename('a', 'c', change => groups.perform(change));
});
