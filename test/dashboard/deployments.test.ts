/** Deployments in Chromium: from a function to its definition, the changes between two, and a preview before activating. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App, uploadOf} from '../functions/app.ts';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
let browser: Browser;
let app: App;

const schema = (text: string) => `
import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';
export default defineSchema({notes: defineTable({text: v.${text}()})});`;
const notes = (name: string) => `import {mutation} from './_generated/server';

// Adds a note.
export const ${name} = mutation((ctx, {text}) => ctx.db.insert('notes', {text: text ?? process.env.GREETING}));
`;

async function deploy(message: string, files: Record<string, string>): Promise<void> {
  const sources = Object.entries(files).map(([path, text]) => ({path: `svc/${path}`, text}));
  const {status} = await app.admin('POST', '/deployments', {...(await uploadOf(files)), message, sources});
  expect(status).toBe(201);
}

beforeAll(async () => {
  browser = await Browser.launch();
  app = await App.empty(service);
  await deploy('strings only', {'schema.ts': schema('string'), 'notes.ts': notes('add')});
  await deploy('any text', {'schema.ts': schema('any'), 'notes.ts': notes('append')});
});
afterAll(() => browser?.close());

test('a function leads to its definition, and activating shows first what would fail', async () => {
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/functions/notes:append`);
  await page.getByRole('link', {name: 'Definition'}).click();
  await window.settled('Deployment 2');
  await page.locator('[aria-current=true]', {hasText: 'export const append'}).waitFor();
  expect(await window.findings()).toEqual([]);

  await page.getByLabel('Show').selectOption('Changes from deployment 1');
  await page.getByRole('row', {name: 'Function notes:append added'}).waitFor();
  await page.getByRole('row', {name: 'Table notes changed'}).waitFor();
  await page.getByText('+export const append').waitFor();
  await page.emulateMedia({colorScheme: 'dark'});
  expect(await window.findings()).toEqual([]);

  const {body} = await app.admin('POST', '/documents', {table: 'notes', fields: {text: 7}});
  await window.goto(`/t/${app.tenant}/deployments`);
  await page.getByRole('button', {name: 'Activate'}).click();
  const dialog = page.getByRole('dialog', {name: 'Activate deployment 1'});
  await dialog.getByText((body as {id: string}).id).waitFor();
  await dialog.getByText('GREETING').waitFor();
  expect(await dialog.getByRole('button', {name: 'Activate'}).isDisabled()).toBe(true);
  await page.keyboard.press('Escape');

  await app.admin('DELETE', `/documents/notes/${(body as {id: string}).id}`);
  await page.getByRole('button', {name: 'Activate'}).click();
  await dialog.getByText('All documents fit its schema').waitFor();
  await dialog.getByRole('button', {name: 'Activate'}).click();
  await page.getByText('Deployment 1 is active').waitFor();
  expect(await browser.closeWindows()).toEqual([expect.stringContaining('status of 401')]);
  expect(window.elsewhere).toEqual([]);
});
