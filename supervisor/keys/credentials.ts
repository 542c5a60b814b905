/**
 * The two admin credentials. On first start they are generated and written to `<data>/admin.json`, readable only by
 * this user. SVC_ACCESS_TOKEN and SVC_ADMIN_TOKEN each override their token in the file. Only digests leave this
 * module, and no child process gets the file or the variables.
 */

import {hash, randomBytes} from 'node:crypto';
import {open, readFile, rename} from 'node:fs/promises';
import {join} from 'node:path';
import {ACCESS_TOKEN_PREFIX, ADMIN_TOKEN_PREFIX} from '../../shared/own-credential.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {StartError} from '../files/start-error.ts';

export type Credentials = {
  accessTokenSha256: string;
  adminTokenSha256: string;
  /** The file where a person finds the access token; null: the token is in SVC_ACCESS_TOKEN. */
  accessTokenFile: string | null;
  /** The same for the admin token and SVC_ADMIN_TOKEN. */
  adminTokenFile: string | null;
};

type AdminFile = {access_token: string; admin_token: string};

const TOKEN_BYTES = 32;
/** Printable ASCII, as headers allow; long enough that it cannot be guessed. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;

export async function loadCredentials(data: string, env: NodeJS.ProcessEnv): Promise<Credentials> {
  const access = tokenFromEnvironment(env, 'SVC_ACCESS_TOKEN');
  const admin = tokenFromEnvironment(env, 'SVC_ADMIN_TOKEN');
  const path = join(data, 'admin.json');
  const file =
    access === null || admin === null ? ((await readAdminFile(path)) ?? (await makeAdminFile(data, path))) : null;
  return {
    accessTokenSha256: hash('sha256', access ?? file!.access_token, 'hex'),
    adminTokenSha256: hash('sha256', admin ?? file!.admin_token, 'hex'),
    accessTokenFile: access === null ? path : null,
    adminTokenFile: admin === null ? path : null,
  };
}

function tokenFromEnvironment(env: NodeJS.ProcessEnv, name: string): string | null {
  const token = env[name];
  if (token === undefined || token === '') return null;
  if (!TOKEN.test(token)) throw new StartError(`${name} must be 16 to 512 printable ASCII characters without spaces`);
  return token;
}

async function readAdminFile(path: string): Promise<AdminFile | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new StartError(`cannot read the credentials: ${(caught as Error).message}`);
  }
  const file = parsed(text);
  if (!TOKEN.test(file?.access_token ?? '') || !TOKEN.test(file?.admin_token ?? '')) {
    throw new StartError(`${path} does not hold an access_token and an admin_token; remove it and it is created again`);
  }
  return file as AdminFile;
}

function parsed(text: string): Partial<AdminFile> | null {
  try {
    return JSON.parse(text) as Partial<AdminFile> | null;
  } catch {
    return null; // The caller describes the expected format; the parser's message could quote a token.
  }
}

async function makeAdminFile(data: string, path: string): Promise<AdminFile> {
  const file: AdminFile = {
    access_token: `${ACCESS_TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`,
    admin_token: `${ADMIN_TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`,
  };
  const temporary = `${path}.tmp`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.chmod(0o600); // a file left by a crash keeps its mode
    await handle.writeFile(`${JSON.stringify(file, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncDirectory(data);
  return file;
}
