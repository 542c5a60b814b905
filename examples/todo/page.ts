/** The page as files that any web server serves: nothing of it is made when it is asked for. */
import {copyFile, mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

/** Anyone who can load the page can read the key: it has the page's rights only, and expires. */
export type PageConfig = {url: string; tenant: string; key: string};

const PAGE = fileURLToPath(new URL('page', import.meta.url));
const STYLES = fileURLToPath(new URL('../kit/base.css', import.meta.url));
const CLIENT = fileURLToPath(new URL('../../dist/sdk/client.js', import.meta.url));

export async function writePage(directory: string, config: PageConfig): Promise<void> {
  await mkdir(directory, {recursive: true});
  for (const name of ['index.html', 'styles.css']) await copyFile(join(PAGE, name), join(directory, name));
  await copyFile(STYLES, join(directory, 'base.css'));
  await writeFile(join(directory, 'config.json'), JSON.stringify(config));
  await build({
    entryPoints: [join(PAGE, 'app.ts')],
    outfile: join(directory, 'app.js'),
    bundle: true,
    // An app of your own has the package installed.
    alias: {'svc/client': CLIENT},
    minify: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
  });
}

const DAY_SECONDS = 24 * 3600;

type Access = {url: string; accessToken: string};

/** The tenant, if it is not there, and a key for its list. @returns the key's secret, which is shown this once */
export async function makeKey(server: Access, tenant: string, scopes: readonly string[] = ['data:read', 'data:write']) {
  await admin(server, '/api/tenants', {id: tenant}, 'session.tenant_exists');
  const name = `${tenant}-page-${Date.now()}`;
  const body = {name, scopes, tenants: [tenant], tables: ['todos'], expires_in_seconds: DAY_SECONDS};
  const {secret} = (await admin(server, '/api/keys', body)) as {secret: string};
  return secret;
}

/** @param accepted the code of an error that is as good as success */
async function admin({url, accessToken}: Access, path: string, body: object, accepted?: string): Promise<unknown> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {authorization: `Bearer ${accessToken}`},
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as {error?: {code: string; message: string}};
  if (!response.ok && answer.error?.code !== accepted) throw new Error(`POST ${path}: ${answer.error?.message}`);
  return answer;
}
