import {chmodSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {nkeys} from '@nats-io/transport-node';
import {afterAll, expect, test} from 'vitest';
import {readCredentials} from '../../cluster/nats/credentials.ts';
import {Authority} from './harness/certificates.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-credentials-'));
afterAll(() => rmSync(directory, {recursive: true}));

function file(name: string, text: string, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const authority = new Authority('the CA');
const pair = authority.issue('host a', ['127.0.0.1']);
const user = nkeys.createUser();
const seed = Buffer.from(user.getSeed()).toString();
const ca = file('ca.pem', authority.certificate, 0o644);
const certificate = file('a.pem', pair.certificate, 0o644);
const key = file('a.key', pair.key);

test('the files of TLS and the seed are read, and the user is named by its public key', () => {
  const found = readCredentials({ca, certificate, key, seed: file('a.seed', `${seed}\n`)});
  expect(found).toMatchObject({tls: {ca: authority.certificate, cert: pair.certificate, key: pair.key}});
  expect(found.user).toBe(user.getPublicKey());
  expect(found.authenticator!('nonce')).toMatchObject({nkey: user.getPublicKey()});
  expect(readCredentials({})).toEqual({tls: null, user: null, authenticator: null});
});

const other = authority.issue('other', []);
test.each([
  ['a missing file', {ca: join(directory, 'none')}, 'cannot be read: ENOENT'],
  ['a CA that is none', {ca: key}, 'is no certificate in PEM'],
  ['a certificate without its key', {ca, certificate}, 'are given together, or not at all'],
  ['a certificate without the CA', {certificate, key}, 'needs the CA of the servers as well'],
  ['a key that others can read', {ca, certificate, key: file('group.key', pair.key, 0o640)}, 'set its mode to 600'],
  ['the key of another', {ca, certificate, key: file('other.key', other.key)}, `is not that of the certificate`],
  ['a key that is none', {ca, certificate, key: file('no.key', 'x')}, 'is no private key in PEM'],
  ['a seed that others can read', {seed: file('open.seed', seed, 0o604)}, 'set its mode to 600'],
  ['a damaged seed', {seed: file('bad.seed', seed.slice(0, -4))}, 'is no seed of a user'],
  [
    'the seed of an account',
    {seed: file('account.seed', Buffer.from(nkeys.createAccount().getSeed()).toString())},
    'no seed of a user',
  ],
])('%s is refused in one sentence, without a byte of it', (_, files, reason) => {
  let message = '';
  try {
    readCredentials(files);
  } catch (error) {
    message = `${error}${(error as Error).stack}${(error as Error).cause ?? ''}`;
  }
  expect(message).toContain(reason);
  expect(message).not.toContain(seed.slice(0, 20));
  expect(message).not.toContain(pair.key.split('\n')[1]);
});
