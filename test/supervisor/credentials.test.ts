import {hash} from 'node:crypto';
import {chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {loadCredentials} from '../../supervisor/keys/credentials.ts';
import {childEnvironment, copierEnvironment} from '../../supervisor/processes/child.ts';

let data: string;
let file: string;

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'svc-test-'));
  file = join(data, 'admin.json');
});
afterEach(() => rmSync(data, {recursive: true}));

const TOKEN = 'a-token-of-our-own-choice';

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

describe('admin credentials', () => {
  test('are made on first start, for this user alone, and stay', async () => {
    const first = await loadCredentials(data, {});
    const made = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(made.access_token).toMatch(/^svc_access_[\w-]{43}$/);
    expect(made.admin_token).toMatch(/^svc_admin_[\w-]{43}$/);
    expect(first).toEqual({
      accessTokenSha256: sha256(made.access_token!),
      adminTokenSha256: sha256(made.admin_token!),
      accessTokenFile: file,
      adminTokenFile: file,
    });
    expect(await loadCredentials(data, {})).toEqual(first);
  });

  test('a half-written file of an earlier start does not lend its mode', async () => {
    writeFileSync(`${file}.tmp`, 'torn');
    chmodSync(`${file}.tmp`, 0o644);
    await loadCredentials(data, {});
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('come from the environment when it has both; then no file is made', async () => {
    const credentials = await loadCredentials(data, {SVC_ACCESS_TOKEN: TOKEN, SVC_ADMIN_TOKEN: `${TOKEN}-2`});
    expect(credentials).toMatchObject({accessTokenSha256: sha256(TOKEN), accessTokenFile: null, adminTokenFile: null});
    expect(() => statSync(file)).toThrow();
  });

  test('the environment wins for the one it has', async () => {
    const credentials = await loadCredentials(data, {SVC_ACCESS_TOKEN: TOKEN});
    expect(credentials).toMatchObject({accessTokenSha256: sha256(TOKEN), accessTokenFile: null, adminTokenFile: file});
  });

  test.each(['short', 'with spaces in it, and long enough', 'übermäßig-lang-genug'])('refuses %j', async token => {
    await expect(loadCredentials(data, {SVC_ACCESS_TOKEN: token})).rejects.toThrow('SVC_ACCESS_TOKEN');
  });

  test.each(['', '{', 'null', '{"access_token":"x"}'])('a file with %j in it is named, not replaced', async text => {
    writeFileSync(file, text);
    await expect(loadCredentials(data, {})).rejects.toThrow(file);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

test('a child sees where things are and what it is given, nothing else', () => {
  const env = {PATH: '/bin', HOME: '/root', SVC_ACCESS_TOKEN: TOKEN, AWS_SECRET: 'x', NODE_OPTIONS: '--inspect'};
  expect(childEnvironment(env, {SVC_LOG_LEVEL: 'info'})).toEqual({PATH: '/bin', HOME: '/root', SVC_LOG_LEVEL: 'info'});
});

test('only the copier gets the credentials of the store, with absolute paths', () => {
  const env = {PATH: '/bin', SVC_ACCESS_TOKEN: TOKEN, AWS_SECRET_ACCESS_KEY: 'x', AWS_SHARED_CREDENTIALS_FILE: 'mine'};
  expect(copierEnvironment(env, {})).toEqual({
    ...{PATH: '/bin', AWS_SECRET_ACCESS_KEY: 'x'},
    AWS_SHARED_CREDENTIALS_FILE: join(process.cwd(), 'mine'),
  });
});
