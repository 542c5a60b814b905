/** The Settings page in Chromium: its token tester names the check that fails, with the token in no URL; limits have uses. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {IdentityProvider} from '../functions/auth/identity-provider.ts';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
let browser: Browser;
let provider: IdentityProvider;
let app: App;
beforeAll(async () => {
  browser = await Browser.launch();
  provider = await IdentityProvider.start('RS256');
  app = await App.deploy(service, {
    'auth.config.ts': `export default {providers: [{domain: '${provider.issuer}', applicationID: 'chat'}]};`,
  });
  await app.admin('PUT', '/settings', {egress: {allow: [provider.issuer.slice(7)], deny: []}});
});
afterAll(async () => {
  await browser?.close();
  await provider?.stop();
});

test('an operator learns why a token is refused, and what a good one gives', async () => {
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  const urls: string[] = [];
  page.on('request', request => urls.push(request.url()));
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/settings`);
  await page.getByRole('cell', {name: provider.issuer}).waitFor();
  const nowS = Math.floor(Date.now() / 1_000);
  const good = {iss: provider.issuer, sub: 'ada', aud: 'chat', exp: nowS + 600, name: 'Ada'};
  const check = async (claims: Record<string, unknown>) => {
    const token = await provider.token(claims);
    await page.getByLabel('Check a token').fill(token);
    await page.getByRole('button', {name: 'Check', exact: true}).click();
    return token;
  };
  const tokens = [await check({...good, aud: 'other'})];
  await page.getByText('configured for "chat"').waitFor();
  expect(await page.getByRole('cell', {name: 'skipped'}).count()).toBe(8);
  expect(await window.findings()).toEqual([]);
  tokens.push(await check(good));
  await page.getByText('Calls with this token are made as its user').waitFor();
  await page.getByText('"tokenIdentifier"').waitFor();
  expect(urls.filter(url => tokens.some(token => url.includes(token.slice(0, 20))))).toEqual([]);
});

test('the limits of a tenant are listed with their use', async () => {
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/settings`);
  const used = page.getByRole('region', {name: 'Limits in use'});
  await used.getByRole('row').filter({hasText: 'storage: stored'}).filter({hasText: '10 GiB'}).waitFor();
  await page.getByText('Limits of each request and object').click();
  await page.getByRole('cell', {name: 'documents that one mutation writes', exact: true}).waitFor();
});

test('a tenant that no site can call stays closed when its network changes', async () => {
  const {body} = await app.admin('GET', '/settings');
  await app.admin('PUT', '/settings', {allowed_origins: []});
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/settings`);
  await page.getByLabel('Closed to code').fill('*.ads.example');
  expect(await page.getByLabel('Pages of every site').isChecked()).toBe(false);
  await page.getByRole('button', {name: 'Save', exact: true}).click();
  await page.getByText('Saved the settings').waitFor();
  const {egress} = body as {egress: {allow: string[]}};
  expect((await app.admin('GET', '/settings')).body).toEqual({
    egress: {allow: egress.allow, deny: ['*.ads.example']},
    allowed_origins: [],
  });
});
