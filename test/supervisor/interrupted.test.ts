/**
 * Creations and deletions that end between any two of their steps, as by kill -9: the real code on real directories, stopped
 * before or after its nth change of the disk. What is on disk then is copied and started on, that start being stopped too.
 */
import {cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {adoptNoteIn} from '../../shared/tenant-directory.ts';
import {prepareAdoption} from '../../supervisor/files/adoption.ts';
import {tenantDirectoryName} from '../../supervisor/files/directory-name.ts';
import {Registry} from '../../supervisor/files/registry.ts';
import {realSteps, type Steps, TenantFiles} from '../../supervisor/files/tenant-files.ts';
import {type PlacedTenant, TenantEntry} from '../../supervisor/tenants/tenant-entry.ts';
import {Tenants} from '../../supervisor/tenants/tenants.ts';
import {nightly} from '../harness/nightly.ts';

const log = createLogger({}, {level: 'error', write: () => undefined});
const CONTENT = 'documents';
const ADOPTED = 'documents from elsewhere';
/** More changes of the disk than any of the operations makes. */
const STEPS_MAX = 12;

let directory: string;
let copies = 0;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
});
afterEach(() => rmSync(directory, {recursive: true}));

/** Ends the process, so to say, at a step: nothing is done from then on. */
class Power {
  #left: number;
  readonly #isAfter: boolean;
  readonly gone: Promise<'gone'>;
  #cut!: (gone: 'gone') => void;

  constructor(steps: number, isAfter: boolean) {
    this.#left = steps;
    this.#isAfter = isAfter;
    this.gone = new Promise(resolve => {
      this.#cut = resolve;
    });
  }

  async asyncStep<T>(step: () => Promise<T>): Promise<T> {
    if (--this.#left > 0) return step();
    if (this.#left === 0 && this.#isAfter) await step();
    this.#cut('gone');
    return new Promise(() => undefined);
  }

  step(change: () => void): void {
    this.#left--;
    if (this.#left > 0 || (this.#left === 0 && this.#isAfter)) change();
    if (this.#left > 0) return;
    this.#cut('gone');
    throw new Error('the process has ended');
  }
}

/** Fails at a change of the disk, before or after it was made, and at all later ones if it does not recover. */
class FailingDisk {
  #left: number;
  readonly #isAfter: boolean;
  readonly #recovers: boolean;
  hasFailed = false;

  constructor(steps: number, isAfter: boolean, recovers: boolean) {
    this.#left = steps;
    this.#isAfter = isAfter;
    this.#recovers = recovers;
  }

  async asyncStep<T>(step: () => Promise<T>): Promise<T> {
    const fails = --this.#left === 0 || (this.#left < 0 && !this.#recovers);
    if (!fails) return step();
    this.hasFailed = true;
    if (this.#left === 0 && this.#isAfter) await step();
    throw Object.assign(new Error('EIO: i/o error'), {code: 'EIO', syscall: 'rename'});
  }

  step(change: () => void): void {
    change();
  }
}

/** A server without workers on a data directory. */
class Server {
  readonly registry: Registry;
  readonly tenants: Tenants;
  readonly #data: string;
  readonly #places = new Map<string, PlacedTenant>();

  constructor(data: string, power: Power | FailingDisk = new Power(Number.POSITIVE_INFINITY, false)) {
    this.#data = data;
    mkdirSync(join(data, 'tenants'), {recursive: true});
    this.registry = new Registry(join(data, 'registry.sqlite'));
    const registry = new Proxy(this.registry, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name !== 'create' && name !== 'adopt' && name !== 'remove') return value.bind(target);
        return (...args: unknown[]) => power.step(() => Reflect.apply(value, target, args));
      },
    });
    const steps = Object.fromEntries(
      Object.entries(realSteps).map(([name, step]) => [
        name,
        (...args: unknown[]) => power.asyncStep(() => Reflect.apply(step, null, args) as Promise<void>),
      ]),
    ) as Steps;
    this.tenants = new Tenants({
      cluster: null,
      registry,
      files: new TenantFiles(join(data, 'tenants'), steps),
      placement: {
        add: tenant => void this.#places.set(tenant.id, tenant),
        delete: async id => this.#places.get(id)!,
        forget: id => void this.#places.delete(id),
        ids: () => [...this.#places.keys()],
        has: id => this.#places.has(id),
        isServed: id => this.#places.has(id),
        find: id => this.#entryOf(id),
        resumed: () => undefined,
        size: 0,
      },
      tellRouters: () => Promise.resolve(),
      now: () => 5,
      log,
    });
  }

  #entryOf(id: string): TenantEntry | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : new TenantEntry(place, {isMarkedAwake: false, isToOpen: false});
  }

  /** Takes in a file, as an upload does once it is complete. */
  adopt(id: string, replace: boolean): Promise<void> {
    return this.tenants.adopt(id, {replace, serve: 'reads', origin: null}, async note => {
      const path = join(this.#data, 'incoming', 'file');
      mkdirSync(join(this.#data, 'incoming'), {recursive: true});
      writeFileSync(path, ADOPTED);
      return await prepareAdoption(path, note);
    });
  }

  /** What the directory of the tenant that is served has. */
  served(id: string): string | null {
    const place = this.#places.get(id);
    if (place === undefined) return null;
    const path = join(this.#data, 'tenants', tenantDirectoryName(id, place.generation), 'tenant.sqlite');
    return readFileSync(path, 'utf8');
  }

  get ids(): string[] {
    return [...this.#places.keys()].sort();
  }

  /** As its first open and write do. */
  use(id: string): void {
    const path = join(this.#data, 'tenants', directories(this.#data).find(name => name.startsWith(`t_${id}_`))!);
    writeFileSync(join(path, 'tenant.sqlite'), CONTENT);
    rmSync(join(path, 'tenant.new'));
  }
}

function directories(data: string): string[] {
  return readdirSync(join(data, 'tenants')).sort();
}

function contentOf(data: string, id: string): string | null {
  const name = directories(data).find(its => its.startsWith(`t_${id}_`));
  const path = join(data, 'tenants', name ?? 'none', 'tenant.sqlite');
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** The disk as it is now, for another server: the first one's files are not closed. */
function disk(data: string): string {
  const copy = join(directory, `copy-${++copies}`);
  cpSync(data, copy, {recursive: true});
  return copy;
}

const refuse = (): never => {
  throw new Error('refused to start');
};

type Operation = (server: Server) => Promise<void>;

/** Does it with the power cut at every step. `check` sees the disk after a start, and whether the operation had succeeded. */
async function atEveryStep(
  operation: Operation,
  check: (data: string, server: Server, isDone: boolean) => void,
): Promise<void> {
  let cuts = 0;
  for (let steps = 1, isCut = true; isCut; steps++) {
    expect(steps).toBeLessThanOrEqual(STEPS_MAX);
    isCut = false;
    for (const isAfter of [false, true]) {
      const data = join(directory, `data-${steps}-${isAfter}`);
      const first = new Server(data);
      for (const id of ['kept', 'used', 'unused']) await first.tenants.create(id);
      for (const id of ['kept', 'used']) first.use(id);
      first.registry.close();

      const power = new Power(steps, isAfter);
      const server = new Server(data, power);
      await server.tenants.recover(refuse);
      const outcome = await Promise.race([operation(server).then(() => 'done' as const), power.gone]);
      if (outcome === 'gone') [cuts, isCut] = [cuts + 1, true];
      // The start after it is cut as well, at each of its steps, and once not at all.
      for (let startSteps = 1, isStartCut = true; isStartCut; startSteps++) {
        expect(startSteps).toBeLessThanOrEqual(STEPS_MAX);
        const left = disk(data);
        const startPower = new Power(startSteps, isAfter);
        const cut = new Server(left, startPower);
        const started = cut.tenants.recover(refuse).then(
          () => 'started',
          () => startPower.gone,
        );
        isStartCut = (await Promise.race([started, startPower.gone])) === 'gone';
        const again = disk(left);
        const last = new Server(again);
        await last.tenants.recover(refuse);
        expect(contentOf(again, 'kept')).toBe(CONTENT);
        expect(
          last.registry
            .rows()
            .map(({id}) => id)
            .sort(),
        ).toEqual(last.ids);
        expect(directories(again)).toHaveLength(last.ids.length);
        check(again, last, outcome === 'done');
        last.registry.close();
        cut.registry.close();
      }
      server.registry.close();
    }
  }
  expect(cuts).toBeGreaterThan(4);
}

describe('ended between any two steps, and at the start after it', () => {
  test('a creation has made the tenant or left nothing; one that was answered is there', async () => {
    await atEveryStep(
      server => server.tenants.create('made'),
      (_, server, isDone) => {
        expect(['kept,unused,used', 'kept,made,unused,used']).toContain(server.ids.join());
        if (isDone) expect(server.ids).toContain('made');
      },
    );
  });

  test('a deletion has left the tenant whole or nothing of it; one that was answered is done', async () => {
    await atEveryStep(
      server => server.tenants.delete('used'),
      (data, server, isDone) => {
        expect(contentOf(data, 'used')).toBe(server.ids.includes('used') ? CONTENT : null);
        if (isDone) expect(server.ids).toEqual(['kept', 'unused']);
      },
    );
  });

  nightly.test('a file that is taken in is the tenant, or nothing is left of it; it starts paused', async () => {
    await atEveryStep(
      server => server.adopt('made', false),
      (data, server, isDone) => {
        if (isDone) expect(server.ids).toContain('made');
        if (!server.ids.includes('made')) return;
        expect(contentOf(data, 'made')).toBe(ADOPTED);
        const {generation} = server.registry.rows().find(({id}) => id === 'made')!;
        expect(server.registry.paused.modeOf('made', generation)).toBe('reads');
      },
    );
  });

  test('a file that replaces a tenant has replaced it, or the tenant is as it was; nothing of it is lost', async () => {
    await atEveryStep(
      server => server.adopt('used', true),
      (data, server, isDone) => {
        expect(server.ids).toContain('used');
        const content = contentOf(data, 'used');
        if (isDone) expect(content).toBe(ADOPTED);
        if (content === CONTENT) return;
        expect(content).toBe(ADOPTED);
        const [aside] = readdirSync(join(data, 'set-aside'));
        expect(aside).toMatch(/^restored-5-t_used_/);
        expect(readFileSync(join(data, 'set-aside', aside!, 'tenant.sqlite'), 'utf8')).toBe(CONTENT);
      },
    );
  });

  test('a tenant begins a new timeline when it is opened next, or is as it was', async () => {
    await atEveryStep(
      server => server.tenants.beginTimeline('used'),
      (data, server, isDone) => {
        expect([server.ids.join(), contentOf(data, 'used')]).toEqual(['kept,unused,used', CONTENT]);
        const directory = directories(data).find(name => name.startsWith('t_used_'))!;
        const note = join(data, 'tenants', directory, 'tenant.adopt');
        if (isDone) expect(existsSync(note)).toBe(true);
        if (existsSync(note))
          expect(adoptNoteIn(readFileSync(note, 'utf8'))).toMatchObject({tenant: 'used', is_own: true});
      },
    );
  });

  nightly.test('a deletion of a tenant that was never used, and one of a tenant made in its place', async () => {
    await atEveryStep(
      async server => {
        await server.tenants.delete('unused');
        await server.tenants.create('unused');
      },
      (data, server, isDone) => {
        expect(contentOf(data, 'used')).toBe(CONTENT);
        if (isDone) expect(server.ids).toEqual(['kept', 'unused', 'used']);
      },
    );
  });
});

test.each<[string, Operation, string | null]>([
  ['deletion', server => server.tenants.delete('used'), null],
  ['replacement', server => server.adopt('used', true), ADOPTED],
  ['new timeline', server => server.tenants.beginTimeline('used'), CONTENT],
])('a %s on a disk that fails at any change is done, or the tenant is served with its files', async (_, act, done) => {
  let faults = 0;
  for (const [recovers, isAfter] of [true, false].flatMap(one => [true, false].map(other => [one, other] as const))) {
    for (let steps = 1, hasFailed = true; hasFailed; steps++) {
      const data = join(directory, `data-${recovers}-${isAfter}-${steps}`);
      const first = new Server(data);
      await first.tenants.create('used');
      first.use('used');
      first.registry.close();
      const failing = new FailingDisk(steps, isAfter, recovers);
      const server = new Server(data, failing);
      await server.tenants.recover(refuse);
      const isDone = await act(server).then(
        () => true,
        () => false,
      );
      hasFailed = failing.hasFailed;
      if (hasFailed) faults++;
      expect(server.served('used')).toBe(isDone ? done : CONTENT);
      server.registry.close();
      const again = disk(data);
      const last = new Server(again);
      await last.tenants.recover(refuse);
      const after = last.served('used');
      expect(recovers ? [isDone ? done : CONTENT] : [done, CONTENT]).toContain(after);
      if (after === ADOPTED) expect(readdirSync(join(again, 'set-aside'))).toHaveLength(1);
      expect(directories(again)).toHaveLength(last.ids.length);
      last.registry.close();
    }
  }
  expect(faults).toBeGreaterThan(8);
});

test('without its registry, nothing that holds a file is removed, and a deletion that was decided goes on', async () => {
  for (let steps = 1; steps <= STEPS_MAX; steps++) {
    const data = join(directory, `data-${steps}`);
    const first = new Server(data);
    for (const id of ['kept', 'used']) {
      await first.tenants.create(id);
      first.use(id);
    }
    first.registry.close();
    const power = new Power(steps, true);
    const server = new Server(data, power);
    await server.tenants.recover(refuse);
    await Promise.race([server.tenants.delete('used'), power.gone]);
    const left = disk(data);
    for (const name of readdirSync(left).filter(its => its.startsWith('registry'))) rmSync(join(left, name));
    const before = directories(left);
    const last = new Server(left);
    const unknown: string[] = [];
    const refused = last.tenants.recover(found => {
      unknown.push(...found.map(({id}) => id));
      return refuse();
    });
    await expect(refused).rejects.toThrow('refused to start');
    expect(unknown).toEqual(before.filter(name => name.startsWith('t_')).map(name => name.split('_')[1]));
    expect(directories(left)).toEqual(before);
    expect(contentOf(left, 'kept')).toBe(CONTENT);
    last.registry.close();
    server.registry.close();
  }
});
