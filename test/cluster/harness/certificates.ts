/** Certificates of a test: an authority, and what it issues. X.509 in DER, as small as programs accept it. */
import {generateKeyPairSync, type KeyObject, randomBytes, sign} from 'node:crypto';
import {isIPv4} from 'node:net';

const COMMON_NAME = '550403';
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const BASIC_CONSTRAINTS = '551d13';
const ALTERNATIVE_NAMES = '551d11';

export type Pair = {readonly certificate: string; readonly key: string};

export class Authority {
  readonly certificate: string;
  readonly #name: string;
  readonly #key: KeyObject;

  constructor(name: string) {
    const {privateKey, publicKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'});
    this.#name = name;
    this.#key = privateKey;
    const isAuthority = sequence(
      oid(BASIC_CONSTRAINTS),
      der(1, Buffer.of(255)),
      octets(sequence(der(1, Buffer.of(255)))),
    );
    this.certificate = this.#issued(name, publicKey, isAuthority);
  }

  /** @param hosts names and IPv4 addresses. @param until the last day that it is valid, as YYMMDD */
  issue(name: string, hosts: readonly string[], until = '491231'): Pair {
    const {privateKey, publicKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'});
    const names = hosts.map(host =>
      isIPv4(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
    );
    const certificate = this.#issued(
      name,
      publicKey,
      sequence(oid(ALTERNATIVE_NAMES), octets(sequence(...names))),
      until,
    );
    return {certificate, key: privateKey.export({type: 'pkcs8', format: 'pem'}) as string};
  }

  #issued(subject: string, key: KeyObject, extension: Buffer, until = '491231'): string {
    const algorithm = sequence(oid(ECDSA_WITH_SHA256));
    const content = sequence(
      der(0xa0, der(2, Buffer.of(2))),
      der(2, Buffer.concat([Buffer.of(1), randomBytes(8)])),
      algorithm,
      nameOf(this.#name),
      sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from(`${until}235959Z`))),
      nameOf(subject),
      key.export({type: 'spki', format: 'der'}),
      der(0xa3, sequence(extension)),
    );
    const signature = der(3, Buffer.concat([Buffer.of(0), sign('sha256', content, this.#key)]));
    const lines = sequence(content, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g)!;
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  }
}

function nameOf(name: string): Buffer {
  return sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(name)))));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function octets(content: Buffer): Buffer {
  return der(4, content);
}

function oid(hex: string): Buffer {
  return der(6, Buffer.from(hex, 'hex'));
}

function der(tag: number, content: Buffer): Buffer {
  const {length} = content;
  if (length < 128) return Buffer.concat([Buffer.of(tag, length), content]);
  const bytes = Buffer.of(length >> 8, length & 255);
  return Buffer.concat(length < 256 ? [Buffer.of(tag, 129, length), content] : [Buffer.of(tag, 130), bytes, content]);
}
