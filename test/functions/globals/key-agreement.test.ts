/** ECDH and X25519 in `crypto.subtle`: the secret that two sides share, where one of them is Node's own. */
import {webcrypto} from 'node:crypto';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {TestRealm} from './realm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await TestRealm.open();
  realm.begin('query');
  realm.run(`
    globalThis.s = crypto.subtle;
    globalThis.bytes = text => new TextEncoder().encode(text);
    globalThis.hex = buffer => [...new Uint8Array(buffer)].map(b => b.toString(16).padStart(2, '0')).join('');
    globalThis.unhex = text => new Uint8Array(text.match(/../g).map(b => parseInt(b, 16)));
    globalThis.P256 = {name: 'ECDH', namedCurve: 'P-256'};
    globalThis.X = {name: 'X25519'};
  `);
});
afterAll(() => realm.close());

type Algorithm = {name: string; namedCurve?: string};
const ALGORITHMS: [string, Algorithm, bits: number, rawBytes: number][] = [
  ['ECDH on P-256', {name: 'ECDH', namedCurve: 'P-256'}, 256, 65],
  ['ECDH on P-384', {name: 'ECDH', namedCurve: 'P-384'}, 384, 97],
  ['ECDH on P-521', {name: 'ECDH', namedCurve: 'P-521'}, 528, 133],
  ['X25519', {name: 'X25519'}, 256, 32],
];
const hexOf = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('hex');

async function nodePair(algorithm: Algorithm) {
  const {subtle} = webcrypto;
  const made = await subtle.generateKey(algorithm as webcrypto.EcKeyGenParams, true, ['deriveBits']);
  const {privateKey, publicKey} = made as webcrypto.CryptoKeyPair;
  return {
    privateKey,
    publicKey,
    pkcs8: hexOf(await subtle.exportKey('pkcs8', privateKey)),
    raw: hexOf(await subtle.exportKey('raw', publicKey)),
  };
}

describe('both sides derive the same bits', () => {
  test.each(ALGORITHMS)('%s: keys of Node’s in every format', async (_title, how, bits, rawBytes) => {
    const own = await nodePair(how);
    const other = await nodePair(how);
    const theirs = await webcrypto.subtle.deriveBits(
      {name: how.name, public: own.publicKey} as webcrypto.EcdhKeyDeriveParams,
      other.privateKey,
      bits,
    );
    const body = `
      const how = ${JSON.stringify(how)};
      const secret = await s.importKey('pkcs8', unhex('${own.pkcs8}'), how, true, ['deriveBits']);
      const open = await s.importKey('raw', unhex('${other.raw}'), how, true, []);
      const again = await s.importKey('jwk', await s.exportKey('jwk', secret), how, true, ['deriveBits']);
      const also = await s.importKey('spki', await s.exportKey('spki', open), how, true, []);
      return [
        hex(await s.deriveBits({name: how.name, public: open}, secret, ${bits})),
        hex(await s.deriveBits({name: how.name, public: also}, again, null)),
        hex(await s.deriveBits({name: how.name, public: open}, secret, 12)),
        hex(await s.exportKey('raw', also)), secret.type, open.type, secret.algorithm, secret.usages, open.usages,
      ]`;
    const first12 = Buffer.from(theirs.slice(0, 2));
    first12[1]! &= 0xf0;
    expect(realm.in('query', body)).toEqual([
      hexOf(theirs),
      hexOf(theirs),
      first12.toString('hex'),
      other.raw,
      'private',
      'public',
      how,
      ['deriveBits'],
      [],
    ]);
    expect(own.raw.length).toBe(rawBytes * 2);
  });

  test.each(ALGORITHMS)('%s: a pair that an action makes', (_title, how) => {
    const body = `
      const how = ${JSON.stringify(how)};
      const a = await s.generateKey(how, false, ['deriveKey', 'deriveBits']), b = await s.generateKey(how, false, ['deriveBits']);
      const one = await s.deriveBits({name: how.name, public: b.publicKey}, a.privateKey, null);
      const two = await s.deriveBits({name: how.name, public: a.publicKey}, b.privateKey, null);
      return [hex(one) === hex(two), a.privateKey.usages, a.publicKey.usages, a.publicKey.extractable, a.privateKey.extractable]`;
    expect(realm.in('action', body)).toEqual([true, ['deriveKey', 'deriveBits'], [], true, false]);
  });

  test('deriveKey: a cipher’s key, or a secret for HKDF', () => {
    const body = `
      const a = await s.generateKey(X, false, ['deriveKey']), b = await s.generateKey(X, false, ['deriveKey']);
      const gcm = {name: 'AES-GCM', length: 256}, how = {name: 'AES-GCM', iv: new Uint8Array(12)};
      const one = await s.deriveKey({...X, public: b.publicKey}, a.privateKey, gcm, false, ['encrypt']);
      const two = await s.deriveKey({...X, public: a.publicKey}, b.privateKey, gcm, false, ['decrypt']);
      const opened = await s.decrypt(how, two, await s.encrypt(how, one, bytes('hi')));
      const secret = await s.deriveKey({...X, public: b.publicKey}, a.privateKey, 'HKDF', false, ['deriveBits']);
      const hkdf = {name: 'HKDF', hash: 'SHA-256', salt: bytes(''), info: bytes('')};
      return [new TextDecoder().decode(opened), (await s.deriveBits(hkdf, secret, 64)).byteLength]`;
    expect(realm.in('action', body)).toEqual(['hi', 8]);
  });
});

describe('refused', () => {
  const PAIRS = `
    const x = await s.generateKey(X, false, ['deriveBits']), p = await s.generateKey(P256, false, ['deriveBits']);
    const q = await s.generateKey({...P256, namedCurve: 'P-384'}, false, ['deriveBits']);`;
  test.each([
    ['no other key', 's.deriveBits(X, x.privateKey, 256)', 'TypeError'],
    [
      'an other key that is private',
      's.deriveBits({...X, public: x.privateKey}, x.privateKey, 256)',
      'InvalidAccessError',
    ],
    [
      'an other key of another algorithm',
      's.deriveBits({...X, public: p.publicKey}, x.privateKey, 8)',
      'InvalidAccessError',
    ],
    [
      'an other key of another curve',
      's.deriveBits({...P256, public: q.publicKey}, p.privateKey, 8)',
      'InvalidAccessError',
    ],
    ['more bits than there are', 's.deriveBits({...X, public: x.publicKey}, x.privateKey, 264)', 'OperationError'],
    [
      'a public key that should derive',
      "s.importKey('raw', new Uint8Array(32).fill(9), X, true, ['deriveBits'])",
      'SyntaxError',
    ],
    ['a pair without usages', 's.generateKey(X, true, [])', 'SyntaxError'],
    ['a pair that should sign', "s.generateKey(X, true, ['sign'])", 'SyntaxError'],
    ['a raw key of another length', "s.importKey('raw', new Uint8Array(31), X, true, [])", 'DataError'],
    ['an unknown curve', "s.generateKey({...P256, namedCurve: 'P-1'}, true, ['deriveBits'])", 'NotSupportedError'],
    [
      'a point of small order',
      "s.deriveBits({...X, public: await s.importKey('raw', new Uint8Array(32), X, true, [])}, x.privateKey, 256)",
      'OperationError',
    ],
  ])('%s', (_title, call, error) => {
    expect(realm.in('action', `${PAIRS} return await ${call}.then(() => 'done', e => e.name)`)).toBe(error);
  });

  test.each(['PBKDF2', 'HKDF'])('%s without a length: an empty secret would be the answer', name => {
    const body = `
      const how = {name: '${name}', hash: 'SHA-256', salt: bytes('s'), info: bytes('i'), iterations: 10};
      const key = await s.importKey('raw', bytes('pw'), '${name}', false, ['deriveBits']);
      const outcome = length => s.deriveBits(how, key, length).then(bits => bits.byteLength, e => e.name);
      return [await outcome(null), await outcome(undefined), await outcome(8)]`;
    expect(realm.in('query', body)).toEqual(['OperationError', 'OperationError', 1]);
  });
});
