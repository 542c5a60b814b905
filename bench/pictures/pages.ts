/** What the pictures show: every page, its states without content and after failures, and dialogs. */
import type {Page} from 'playwright-core';
import {tenantPath} from '../../cli/client.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import {ATLAS, SHOP} from './seed.ts';

type Shot = {name: string; path: string; prepare?: (page: Page) => Promise<void>};

/** A tenant with next to nothing. */
const EMPTY = 'observatory';

const press = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole('button', {name}).first().click();
};

export async function shots(svc: SvcPeer): Promise<Shot[]> {
  const {data} = await svc.client.json<{data: {_id: string}[]}>('POST', `${tenantPath(SHOP)}/query`, {
    ...{table: 'orders', filters: [], order: {field: '_creationTime', direction: 'desc'}, limit: 1},
  });
  const order = data[0]!._id;
  const ofTenant = (name: string, tenant: string, pages: readonly string[]) =>
    pages.map((page): Shot => ({name: `${name}-${page}`, path: `/t/${tenant}/${page}`}));
  return [
    {name: 'tenants', path: '/tenants'},
    {name: 'tenants-new', path: '/tenants', prepare: press('New tenant')},
    {name: 'tenants-none', path: '/tenants?search=nothing-like-this'},
    {name: 'keys', path: '/keys'},
    {name: 'keys-new', path: '/keys', prepare: press('New key')},
    {name: 'sessions', path: '/sessions'},
    {name: 'audit', path: '/audit'},
    {name: 'server', path: '/server'},
    {name: 'overview', path: `/t/${SHOP}/overview`},
    {name: 'data', path: `/t/${ATLAS}/data/cities`},
    {
      name: 'data-filter',
      path: `/t/${ATLAS}/data/cities?filter=${encodeURIComponent('population > 1000000 and name starts with "B"')}`,
    },
    {name: 'data-orders', path: `/t/${SHOP}/data/orders`},
    {name: 'data-document', path: `/t/${SHOP}/data/orders?document=${order}`},
    ...ofTenant('shop', SHOP, [
      'schema',
      'journal',
      'functions',
      'logs',
      'schedules',
      'deployments',
      'live',
      'services',
      'settings',
    ]),
    {name: 'function', path: `/t/${SHOP}/functions/orders:place`},
    ...ofTenant('empty', EMPTY, [
      'overview',
      'data',
      'schema',
      'functions',
      'logs',
      'schedules',
      'deployments',
      'live',
      'services',
    ]),
    {name: 'deployment', path: `/t/${SHOP}/deployments/active`},
    {
      name: 'record',
      path: `/t/${SHOP}/journal?table=orders`,
      prepare: page => page.locator('main li summary, main li button').first().click(),
    },
    {
      name: 'execution',
      path: `/t/${SHOP}/logs?outcome=error`,
      prepare: page => page.getByText('Uncaught Error').first().click(),
    },
    {name: 'palette', path: `/t/${SHOP}/overview`, prepare: page => page.keyboard.press('Control+k')},
    {name: 'shortcuts', path: `/t/${SHOP}/overview`, prepare: page => page.keyboard.press('?')},
    {name: 'no-tenant', path: '/t/not-here/overview'},
    {name: 'no-page', path: '/nothing'},
  ];
}
