/**
 * The CA of a cluster, and the certificates that it issues. Hosts and their NATS servers are server and client to each
 * other, so each certificate is for both. Keys are RSA, which node-forge signs with.
 */
import {generateKeyPairSync, randomBytes, X509Certificate} from 'node:crypto';
import {isIP} from 'node:net';
import forge from 'node-forge';
import {CommandFailure} from '../failure.ts';

const DAY_MS = 24 * 60 * 60_000;
/** A host whose clock is behind that of the operator accepts it, too. */
const BEFORE_MS = DAY_MS;
const CA_DAYS = 3_650;
const HOST_DAYS = 730;
const CA_BITS = 3_072;
const HOST_BITS = 2_048;

export type Pair = {readonly certificate: string; readonly key: string};
type Certificate = forge.pki.Certificate;
type Keys = {private: forge.pki.rsa.PrivateKey; public: forge.pki.rsa.PublicKey; pem: string};

export class Authority {
  /** In PEM. */
  readonly certificate: string;
  readonly #own: Certificate;
  readonly #key: forge.pki.rsa.PrivateKey;

  private constructor(own: Certificate, key: forge.pki.rsa.PrivateKey) {
    this.certificate = forge.pki.certificateToPem(own);
    this.#own = own;
    this.#key = key;
  }

  /** @param cluster its name */
  static make(cluster: string, nowMs = Date.now()): {authority: Authority; key: string} {
    const keys = newKeys(CA_BITS);
    const own = blank(keys.public, `CA of the svc cluster ${cluster}`, {nowMs, days: CA_DAYS});
    own.setIssuer(own.subject.attributes);
    own.setExtensions([
      {name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true},
      {name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true},
      {name: 'subjectKeyIdentifier'},
    ]);
    own.sign(keys.private, forge.md.sha256.create());
    return {authority: new Authority(own, keys.private), key: keys.pem};
  }

  /** @throws CommandFailure */
  static from({certificate, key}: Pair): Authority {
    if (!fits(certificate, key)) throw new CommandFailure('ca.key is not the key of ca.pem, or one of them is damaged');
    return new Authority(forge.pki.certificateFromPem(certificate), forge.pki.privateKeyFromPem(key));
  }

  /** @param names addresses and DNS names of the host; the first one is its own name */
  issue(names: readonly string[], nowMs = Date.now()): Pair {
    const keys = newKeys(HOST_BITS);
    const issued = blank(keys.public, names[0]!, {nowMs, days: HOST_DAYS});
    issued.setIssuer(this.#own.subject.attributes);
    issued.setExtensions([
      {name: 'basicConstraints', cA: false, critical: true},
      {name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true},
      {name: 'extKeyUsage', serverAuth: true, clientAuth: true},
      {name: 'subjectAltName', altNames: [...new Set(names)].map(alternativeName)},
      {name: 'subjectKeyIdentifier'},
      {name: 'authorityKeyIdentifier', keyIdentifier: this.#own.generateSubjectKeyIdentifier().getBytes()},
    ]);
    issued.sign(this.#key, forge.md.sha256.create());
    return {certificate: forge.pki.certificateToPem(issued), key: keys.pem};
  }
}

/** Epoch milliseconds. */
export function endOf(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

function blank(key: forge.pki.rsa.PublicKey, name: string, {nowMs, days}: {nowMs: number; days: number}): Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = key;
  // Positive, as DER writes numbers.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`;
  certificate.validity.notBefore = new Date(nowMs - BEFORE_MS);
  certificate.validity.notAfter = new Date(nowMs + days * DAY_MS);
  certificate.setSubject([{name: 'commonName', value: name}]);
  return certificate;
}

function newKeys(bits: number): Keys {
  const {privateKey, publicKey} = generateKeyPairSync('rsa', {
    modulusLength: bits,
    privateKeyEncoding: {type: 'pkcs8', format: 'pem'},
    publicKeyEncoding: {type: 'spki', format: 'pem'},
  });
  return {
    private: forge.pki.privateKeyFromPem(privateKey),
    public: forge.pki.publicKeyFromPem(publicKey) as forge.pki.rsa.PublicKey,
    pem: privateKey,
  };
}

function alternativeName(name: string): {type: number; value?: string; ip?: string} {
  return isIP(name) === 0 ? {type: 2, value: name} : {type: 7, ip: name};
}

function fits(certificate: string, key: string): boolean {
  try {
    const {n, e} = forge.pki.privateKeyFromPem(key);
    const held = forge.pki.certificateFromPem(certificate).publicKey as forge.pki.rsa.PublicKey;
    return held.n.equals(n) && held.e.equals(e);
  } catch {
    // The reason could have a part of the key.
    return false;
  }
}
