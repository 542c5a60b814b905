/** A server with data that looks real: the demo's cities, a shop with its functions, and what operators do. */
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {tenantPath} from '../../cli/client.ts';
import {cities} from '../bulk/cities.ts';
import {importChunks} from '../bulk/import.ts';
import {deployApp, runFunction} from '../functions/app.ts';
import type {SvcPeer} from '../peers/svc/start.ts';

export const SHOP = 'shop';
export const ATLAS = 'atlas';

const PEOPLE = ['Ada Lovelace', 'Grace Hopper', 'Alan Turing', 'Barbara Liskov', 'Edsger Dijkstra', 'Lynn Conway'];
const CITIES = ['London', 'New York', 'Manchester', 'Boston', 'Rotterdam', 'Ann Arbor'];
const PRODUCTS = ['Desk lamp', 'Oak desk', 'Office chair', 'Bookshelf', 'Wool rug', 'Floor lamp', 'Filing cabinet'];
const TENANTS = ['bakery', 'cinema', 'harbour', 'library', 'museum', 'observatory'];
const ORDERS = 160;

/** What the shop's requests need. */
export type Shop = {customers: string[]; products: string[]};

export async function seedServer(svc: SvcPeer, root: string): Promise<Shop> {
  const post = (tenant: string, path: string, body: object = {}) =>
    svc.client.json('POST', `${tenantPath(tenant)}/${path}`, body);
  await svc.client.createTenant(ATLAS);
  await importChunks(svc, ATLAS, 'cities', cities().chunks);
  const field = (name: string, field_type: string) => ({name, field_type, required: true});
  await svc.client.json('PUT', tenantPath(ATLAS, 'schema', 'cities'), {
    table: 'cities',
    fields: [
      field('name', 'string'),
      field('country', 'string'),
      field('population', 'number'),
      field('loc', 'object'),
    ],
    indexes: [
      {name: 'by_country_population', fields: ['country', 'population']},
      {name: 'by_name', fields: ['name']},
    ],
  });

  await svc.client.createTenant(SHOP);
  mkdirSync(join(root, 'shop'), {recursive: true});
  const app = join(import.meta.dirname, 'app');
  await deployApp(svc, SHOP, join(root, 'shop'), app);
  await deployApp(svc, SHOP, join(root, 'shop'), app);
  for (const [name, value] of [
    ['CURRENCY', 'EUR'],
    ['MAIL_KEY', 'not shown until asked'],
  ]) {
    await svc.client.json('PUT', tenantPath(SHOP, 'env', name!), {value});
  }
  const shop: Shop = {customers: [], products: []};
  for (const [i, name] of PEOPLE.entries()) {
    const email = `${name.split(' ')[0]!.toLowerCase()}@example.com`;
    shop.customers.push((await runFunction(svc, SHOP, 'shop:addCustomer', {name, email, city: CITIES[i]})) as string);
  }
  for (const [i, name] of PRODUCTS.entries()) {
    const product = {name, price: 40 + i * 55, stock: 4_000};
    shop.products.push((await runFunction(svc, SHOP, 'shop:addProduct', product)) as string);
  }
  for (let i = 0; i < ORDERS; i++) await shopRequest(svc, shop, i);
  await runFunction(svc, SHOP, 'shop:restock', {stock: 5_000});
  await post(SHOP, 'crons', {
    ...{name: 'sweep', schedule: {type: 'interval', seconds: 3_600}},
    mutation: {type: 'delete', table: 'mails', id: 'mail-1'},
  });
  await post(SHOP, 'crons/sweep/run');
  await post(SHOP, 'crons', {
    ...{name: 'opening', schedule: {type: 'cron', expression: '0 8 * * 1-5', time_zone: 'Europe/Berlin'}},
    mutation: {type: 'insert', table: 'days', fields: {state: 'open'}},
  });
  await post(SHOP, 'crons/opening/run');
  const code = `export default async (ctx, signal, log) => {
    log.info('listening for orders');
    await new Promise(done => signal.addEventListener('abort', done));
  }`;
  await post(SHOP, 'services', {name: 'mailer', source: {type: 'inline', code}, node_version: '22'});
  await post(SHOP, 'sandboxes');

  for (const tenant of TENANTS) {
    await svc.client.createTenant(tenant);
    await post(tenant, 'documents', {table: 'events', fields: {title: `First event of the ${tenant}`}});
  }
  await post(TENANTS[3]!, 'pause');
  await post('cinema', 'documents', {table: 'films', fields: {title: 'Metropolis', year: 1927}});
  const keys: [name: string, key: object][] = [
    ['reports', {scopes: ['data:read'], tenants: [ATLAS], expires_in_seconds: 90 * 86_400}],
    ['deploy from CI', {scopes: ['deploy', 'env'], tenants: [SHOP]}],
    ['support', {scopes: ['data:read', 'logs'], rate_limit: {requests_per_second: 20, burst: 40}}],
  ];
  for (const [name, key] of keys) await svc.client.json('POST', '/api/keys', {name, ...key});
  return shop;
}

/** One of many requests of a shop's customers; some fail. */
export async function shopRequest(svc: SvcPeer, {customers, products}: Shop, i: number): Promise<void> {
  const customer = customers[i % customers.length]!;
  const run = (path: string, args: object) =>
    svc.client.json<{value: unknown}>('POST', tenantPath(SHOP, 'functions', 'run'), {path, args});
  await run('shop:products', {search: i % 2 === 0 ? 'lamp' : ''});
  await run('orders:ofCustomer', {customer});
  const items = [{product: products[i % products.length]!, quantity: i % 23 === 22 ? 9_000 : 1 + (i % 3)}];
  const {value: order} = await run('orders:place', {customer, items, ...(i % 5 === 0 ? {note: 'Ring twice'} : {})});
  if (typeof order !== 'string') return;
  if (i % 3 > 0) await run('orders:pay', {order});
  if (i % 31 === 30) await run('orders:pay', {order});
  await run('orders:open', {});
}
