/**
 * What a host proves itself with to NATS servers, and how it knows them: the files of TLS, and the seed of its nkey
 * user. No message has a byte of a key or a seed; a user is named by its public key.
 */
import {createPrivateKey, type KeyObject, X509Certificate} from 'node:crypto';
import {readFileSync, statSync} from 'node:fs';
import {isIP} from 'node:net';
import {checkServerIdentity, type PeerCertificate} from 'node:tls';
import {type Authenticator, nkeyAuthenticator, nkeys} from '@nats-io/transport-node';
import {NatsRefusal} from './nats-refusal.ts';

/** Paths. Without a CA, connections are not encrypted. */
export type CredentialFiles = {
  readonly ca?: string;
  /** Of this host, for servers that verify it. */
  readonly certificate?: string;
  readonly key?: string;
  readonly seed?: string;
};

export type Credentials = {
  readonly tls: {readonly ca: string; readonly cert?: string; readonly key?: string} | null;
  /** Public key of the nkey user; null: none. */
  readonly user: string | null;
  readonly authenticator: Authenticator | null;
};

export const NO_CREDENTIALS: Credentials = {tls: null, user: null, authenticator: null};

/** @throws NatsRefusal */
export function readCredentials({ca, certificate, key, seed}: CredentialFiles): Credentials {
  if ((certificate === undefined) !== (key === undefined)) {
    throw new NatsRefusal('the certificate of this host for NATS and its key are given together, or not at all.');
  }
  if (certificate !== undefined && ca === undefined) {
    throw new NatsRefusal('a certificate of this host for NATS needs the CA of the servers as well.');
  }
  const user = seed === undefined ? null : userOf(seed);
  return {
    tls: ca === undefined ? null : {ca: authorityOf(ca), ...(certificate && key ? pairOf(certificate, key) : {})},
    user: user?.name ?? null,
    authenticator: user === null ? null : nkeyAuthenticator(user.seed),
  };
}

/**
 * The check of a server's name. The client of NATS passes no name for a server that is given by its IP address, so the
 * certificate has to be for one of these addresses.
 */
export function identityCheck(servers: readonly string[]) {
  const addresses = servers.map(server => new URL(server).hostname.replace(/^\[|\]$/g, '')).filter(host => isIP(host));
  return (name: string, certificate: PeerCertificate): Error | undefined => {
    const fault = checkServerIdentity(name, certificate);
    if (name !== 'localhost' || fault === undefined) return fault;
    return addresses.some(address => checkServerIdentity(address, certificate) === undefined) ? undefined : fault;
  };
}

function authorityOf(path: string): string {
  const text = read('the CA of the NATS servers', path);
  certificateIn('the CA of the NATS servers', path, text);
  return text;
}

function pairOf(certificatePath: string, keyPath: string): {cert: string; key: string} {
  const cert = read('the certificate of this host for NATS', certificatePath);
  const found = certificateIn('the certificate of this host for NATS', certificatePath, cert);
  const key = readSecret('the key of this host for NATS', keyPath);
  let parsed: KeyObject;
  try {
    parsed = createPrivateKey(key);
  } catch {
    throw new NatsRefusal(`the key of this host for NATS, ${keyPath}, is no private key in PEM.`);
  }
  if (!found.checkPrivateKey(parsed)) {
    throw new NatsRefusal(`the key ${keyPath} is not that of the certificate ${certificatePath}.`);
  }
  return {cert, key};
}

function userOf(path: string): {name: string; seed: Uint8Array} {
  const seed = Buffer.from(readSecret('the nkey seed of this host', path).trim());
  try {
    const name = nkeys.fromSeed(seed).getPublicKey();
    if (name.startsWith('U')) return {name, seed};
  } catch {
    // The reason could have bytes of the seed.
  }
  throw new NatsRefusal(
    `the nkey seed of this host, ${path}, is no seed of a user, which is one line that begins with SU.`,
  );
}

function certificateIn(what: string, path: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new NatsRefusal(`${what}, ${path}, is no certificate in PEM.`);
  }
}

/** A file that only its owner can read, who is this user or root. */
function readSecret(what: string, path: string): string {
  const text = read(what, path);
  const {mode, uid} = statSync(path);
  if ((mode & 0o077) !== 0) {
    throw new NatsRefusal(`${what}, ${path}, can be read by other users; set its mode to 600.`);
  }
  if (uid !== 0 && uid !== process.getuid?.()) {
    throw new NatsRefusal(`${what}, ${path}, belongs to another user than the one that runs svc.`);
  }
  return text;
}

function read(what: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new NatsRefusal(`${what}, ${path}, cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}
