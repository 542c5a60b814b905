/**
 * A get, or a call of a query function, never answers with what an acknowledged write has replaced, or with less than
 * another one has answered: not through another router, not after the worker was killed, and not through a router that
 * stood still meanwhile. Most are answered from the memory of a router.
 */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {RoutedClient, routersOf} from '../harness/routed.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

const CLIENTS_OF_ROUTER = 3;
/** Few, so that each is read by all soon after it was written. */
const DOCUMENTS_OF_CLIENT = 2;
const STEPS = rounds({commit: 200, nightly: 1_000});
/** Of the steps of the first client: after so many, the worker is killed. */
const STEPS_OF_WORKER = rounds({commit: 70, nightly: 200});
/** Likewise: after so many, a router stands still during some requests. */
const STEPS_OF_ROUTER = 25;

const FUNCTIONS = {
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({t: defineTable({version: v.number(), n: v.number()}).index('by_n', ['n'])});`,
  't.ts': `
    import {v} from 'svc/values';
    import {query} from './_generated/server';
    export const version = query({args: {n: v.number()}, handler: async (ctx, {n}) =>
      (await ctx.db.query('t').withIndex('by_n', q => q.eq('n', n)).first())?.version ?? null});`,
};

/** All that a document may hold: each write attempts the next version, and what is known is never replaced by less. */
class Model {
  readonly path: string;
  readonly n: number;
  /** Where functions are called; null: there are none. */
  readonly calls: string | null;
  /** By version; null: there is no document. */
  readonly attempted: (number | null)[] = [null];
  known = 0;

  constructor(tenant: string, n: number, hasFunctions: boolean) {
    // With an id of the client's choice, because one that was deleted can be put again.
    this.path = `/api/tenants/${tenant}/documents/t/document-${n}`;
    this.n = n;
    this.calls = hasFunctions ? `/svc/${tenant}/query` : null;
  }

  /** @param isGone the version is a deletion. A client that is refused does not know whether it was made. */
  async write(client: RoutedClient, isGone: boolean): Promise<void> {
    const version = this.attempted.push(null) - 1;
    if (!isGone) this.attempted[version] = version;
    const {status} = await (isGone
      ? client.request('DELETE', this.path)
      : client.request('PUT', this.path, {fields: {version, n: this.n}}));
    expect(isGone ? [204, 404, 503] : [200, 201, 503]).toContain(status);
    if (status !== 503) this.#know(version);
  }

  /** By a function, which finds no document while there is none. @returns whether it was answered */
  async call(client: RoutedClient): Promise<boolean> {
    const least = this.known;
    const body = {path: 't:version', args: {n: this.n}};
    const {status, body: reply} = await client.request('POST', this.calls!, body);
    if (status === 503) return false;
    const {value: found} = reply as {value: number | null};
    expect(this.attempted.slice(least), `${this.path} by a function, from version ${least} on`).toContain(found);
    if (found !== null) this.#know(found);
    return true;
  }

  /** @returns whether it was answered */
  async read(client: RoutedClient): Promise<boolean> {
    const least = this.known;
    const {status, body} = await client.request('GET', this.path);
    if (status === 503) return false;
    const found = status === 404 ? null : (body as {document: {version: number}}).document.version;
    expect(this.attempted.slice(least), `${this.path} from version ${least} on`).toContain(found);
    if (found !== null) this.#know(found);
    return true;
  }

  #know(version: number): void {
    this.known = Math.max(this.known, version);
  }
}

describe.each([1, 2])('routers: %i', count => {
  let service: Service;
  let routers: number[];
  let clients: RoutedClient[];

  beforeAll(async () => {
    service = await Service.start({spares: 1, args: ['--routers', String(count), '--metrics-port', '0']});
    routers = await routersOf(service, count);
    clients = [];
    for (let i = 0; i < CLIENTS_OF_ROUTER * count; i++)
      clients.push(await RoutedClient.of(service, routers[i % count]!));
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await service.stop();
  });
  beforeEach(() => service.showLogOnFailure());

  async function cachedAnswers(): Promise<number> {
    return Number(/^svc_router_cached_answers_total (\d+)$/m.exec((await service.get('/metrics')).text)?.[1]);
  }

  test.each([
    ['gets', false],
    ['gets and calls of functions', true],
  ])(
    '%s between writes, kills and pauses',
    async (_, hasFunctions) => {
      const id = hasFunctions ? (await App.deploy(service, FUNCTIONS)).tenant : (await Tenant.make(service)).id;
      const models = Array.from(
        {length: clients.length * DOCUMENTS_OF_CLIENT},
        (_, n) => new Model(id, n, hasFunctions),
      );
      const cachedBefore = await cachedAnswers();
      const seed = Math.floor(Math.random() * 2 ** 32);
      console.info(`seed ${seed}`);
      const random = seededRandom(seed);
      const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
      const last = routers.at(-1)!;
      let answered = 0;

      const step = async (client: RoutedClient, own: readonly Model[]): Promise<void> => {
        const isWrite = random() < 0.2;
        if (isWrite) await oneOf(own).write(client, random() < 0.2);
        else if (hasFunctions && random() < 0.6) answered += Number(await oneOf(models).call(client));
        else if (await oneOf(models).read(client)) answered++;
      };
      /** A router stands still while another one acknowledges a write. Then it finds a get, and much else to do. */
      const staleStep = async (client: RoutedClient, model: Model): Promise<void> => {
        const read = () => (hasFunctions ? model.call(clients.at(-1)!) : model.read(clients.at(-1)!));
        for (let times = 0; times < 4; times++) await read();
        const reading = await whileStill(last, async () => {
          await model.write(client, false);
          return [read()];
        });
        await Promise.all(reading);
      };
      const run = async (client: RoutedClient, nth: number): Promise<void> => {
        // One writer of each document, so that its versions have an order.
        const own = models.filter((_, at) => at % clients.length === nth);
        for (let at = 1; at <= STEPS; at++) {
          if (nth === 0 && at % STEPS_OF_WORKER === 0) process.kill(await service.workerOf(id), 'SIGKILL');
          if (nth !== 0 || at % STEPS_OF_ROUTER !== 0) await step(client, own);
          else if (count > 1) await staleStep(client, oneOf(own));
          else await Promise.all(await whileStill(last, () => Promise.resolve([step(client, own)])));
        }
      };
      await Promise.all(clients.map(run));
      expect(answered).toBeGreaterThan(STEPS);
      for (const model of models) for (const client of clients) await model.read(client);
      expect((await cachedAnswers()) - cachedBefore).toBeGreaterThan(STEPS / 4);
    },
    120_000,
  );
});

/** @param act returns requests that are sent before the router goes on; their answers may need that router */
async function whileStill<T>(router: number, act: () => Promise<T>): Promise<T> {
  process.kill(router, 'SIGSTOP');
  try {
    const acting = await act();
    await new Promise(resolve => setImmediate(resolve));
    return acting;
  } finally {
    process.kill(router, 'SIGCONT');
  }
}
