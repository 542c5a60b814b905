/** `crypto.subtle`: known answers, keys in and out, and what the host refuses to every caller. */
import {webcrypto} from 'node:crypto';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {cryptoCall} from '../../../worker/runtime/crypto/crypto-host.ts';
import {CRYPTO_INPUT_BYTES_MAX, PBKDF2_WORK_MAX} from '../../../worker/runtime/limits.ts';
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
    globalThis.hmac = (hash, usages = ['sign', 'verify'], extractable = true) =>
      s.importKey('raw', bytes('key'), {name: 'HMAC', hash}, extractable, usages);
  `);
});
afterAll(() => realm.close());

describe('known answers, in queries', () => {
  test.each([
    ['SHA-1', "s.digest('sha-1', bytes('abc'))", 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    [
      'SHA-256',
      "s.digest({name: 'SHA-256'}, bytes('abc'))",
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    ],
    [
      'SHA-384 of nothing',
      "s.digest('SHA-384', new ArrayBuffer(0))",
      '38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b',
    ],
    [
      'HMAC',
      "s.sign('HMAC', await hmac('SHA-256'), bytes('The quick brown fox jumps over the lazy dog'))",
      'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
    ],
    [
      'PBKDF2',
      "s.deriveBits({name: 'PBKDF2', hash: 'SHA-1', salt: bytes('salt'), iterations: 2}, await s.importKey('raw', bytes('password'), 'PBKDF2', false, ['deriveBits']), 160)",
      'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957',
    ],
    [
      'HKDF',
      "s.deriveBits({name: 'HKDF', hash: 'SHA-256', salt: unhex('000102030405060708090a0b0c'), info: unhex('f0f1f2f3f4f5f6f7f8f9')}, await s.importKey('raw', unhex('0b'.repeat(22)), 'HKDF', false, ['deriveBits']), 336)",
      '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
    ],
    [
      'AES-GCM',
      "s.encrypt({name: 'AES-GCM', iv: new Uint8Array(12)}, await s.importKey('raw', new Uint8Array(16), 'AES-GCM', false, ['encrypt']), new Uint8Array(16))",
      '0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf',
    ],
    [
      'AES-CBC',
      "s.encrypt({name: 'AES-CBC', iv: unhex('000102030405060708090a0b0c0d0e0f')}, await s.importKey('raw', unhex('2b7e151628aed2a6abf7158809cf4f3c'), 'AES-CBC', false, ['encrypt']), unhex('6bc1bee22e409f96e93d7e117393172a')).then(b => b.slice(0, 16))",
      '7649abac8119b246cee98e9b12e9197d',
    ],
    [
      'AES-CTR',
      "s.encrypt({name: 'AES-CTR', counter: unhex('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'), length: 64}, await s.importKey('raw', unhex('2b7e151628aed2a6abf7158809cf4f3c'), 'AES-CTR', false, ['encrypt']), unhex('6bc1bee22e409f96e93d7e117393172a'))",
      '874d6191b620e3261bef6864990db6ce',
    ],
  ])('%s', (_title, expression, expected) => {
    expect(realm.in('query', `return hex(await ${expression})`)).toBe(expected);
  });
});

describe('the same as Node’s', () => {
  test.each([
    ['PBKDF2', {name: 'PBKDF2', hash: 'SHA-512', salt: [1, 2], info: [0], iterations: 1000}, 512],
    ['HKDF', {name: 'HKDF', hash: 'SHA-384', salt: [], info: [7]}, 256],
  ])('%s', async (name, given, bits) => {
    const algorithm = {...given, salt: new Uint8Array(given.salt), info: new Uint8Array(given.info)};
    const key = await webcrypto.subtle.importKey('raw', Buffer.from('pw'), name, false, ['deriveBits']);
    const expected = Buffer.from(await webcrypto.subtle.deriveBits(algorithm, key, bits)).toString('hex');
    const body = `
      const given = ${JSON.stringify(given)};
      const key = await s.importKey('raw', bytes('pw'), '${name}', false, ['deriveBits']);
      return hex(await s.deriveBits({...given, salt: new Uint8Array(given.salt), info: new Uint8Array(given.info)}, key, ${bits}))`;
    expect(realm.in('query', body)).toBe(expected);
  });

  test.each([8, 64, 128])('AES-CTR whose counter of %i bits runs over', async length => {
    const iv = new Uint8Array(16).fill(255);
    const data = Buffer.alloc(50, 7);
    const key = await webcrypto.subtle.importKey('raw', new Uint8Array(32), 'AES-CTR', false, ['encrypt']);
    const expected = await webcrypto.subtle.encrypt({name: 'AES-CTR', counter: iv, length}, key, data);
    const body = `
      const key = await s.importKey('raw', new Uint8Array(32), 'AES-CTR', false, ['encrypt', 'decrypt']);
      const how = {name: 'AES-CTR', counter: new Uint8Array(16).fill(255), length: ${length}};
      const made = await s.encrypt(how, key, new Uint8Array(50).fill(7));
      return [hex(made), hex(await s.decrypt(how, key, made))]`;
    expect(realm.in('query', body)).toEqual([Buffer.from(expected).toString('hex'), data.toString('hex')]);
  });

  test.each([
    [
      'RSASSA-PKCS1-v1_5',
      {name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: [1, 0, 1]},
      {},
    ],
    ['RSA-PSS', {name: 'RSA-PSS', hash: 'SHA-384', modulusLength: 2048, publicExponent: [1, 0, 1]}, {saltLength: 20}],
    ['ECDSA on P-256', {name: 'ECDSA', namedCurve: 'P-256'}, {hash: 'SHA-256'}],
    ['ECDSA on P-521', {name: 'ECDSA', namedCurve: 'P-521'}, {hash: 'SHA-512'}],
    ['Ed25519', {name: 'Ed25519'}, {}],
  ])('signatures of %s are exchanged both ways, in every key format', async (_title, given, call) => {
    const {name} = given;
    const algorithm = {
      ...given,
      ...('publicExponent' in given ? {publicExponent: new Uint8Array(given.publicExponent!)} : {}),
    };
    const pair = (await webcrypto.subtle.generateKey(algorithm as never, true, [
      'sign',
      'verify',
    ])) as webcrypto.CryptoKeyPair;
    const exported = async (format: 'pkcs8' | 'spki', key: webcrypto.CryptoKey): Promise<string> =>
      Buffer.from(await webcrypto.subtle.exportKey(format, key)).toString('hex');
    const theirs = await webcrypto.subtle.sign({name, ...call} as never, pair.privateKey, Buffer.from('text'));
    const body = `
      const how = ${JSON.stringify(given)}, call = ${JSON.stringify({name, ...call})};
      const secret = await s.importKey('pkcs8', unhex('${await exported('pkcs8', pair.privateKey)}'), how, true, ['sign']);
      const open = await s.importKey('spki', unhex('${await exported('spki', pair.publicKey)}'), how, true, ['verify']);
      const made = await s.sign(call, await s.importKey('jwk', await s.exportKey('jwk', secret), how, true, ['sign']), bytes('text'));
      const again = await s.importKey('jwk', await s.exportKey('jwk', open), how, true, ['verify']);
      return [
        hex(made), await s.verify(call, again, made, bytes('text')), await s.verify(call, again, made, bytes('test')),
        await s.verify(call, open, unhex('${Buffer.from(theirs).toString('hex')}'), bytes('text')),
        hex(await s.exportKey('pkcs8', secret)) === '${await exported('pkcs8', pair.privateKey)}', secret.type, open.type,
      ]`;
    const [made, ...rest] = realm.in('query', body) as [string, ...unknown[]];
    expect(rest).toEqual([true, false, true, true, 'private', 'public']);
    const isOurs = await webcrypto.subtle.verify(
      {name, ...call} as never,
      pair.publicKey,
      Buffer.from(made, 'hex'),
      Buffer.from('text'),
    );
    expect(isOurs).toBe(true);
  });
});

describe('keys', () => {
  test.each([
    [
      'HMAC',
      {name: 'HMAC', hash: 'SHA-512'},
      ['sign', 'verify'],
      {name: 'HMAC', length: 1024, hash: {name: 'SHA-512'}},
    ],
    ['AES', {name: 'aes-gcm', length: 256}, ['encrypt'], {name: 'AES-GCM', length: 256}],
  ])('an %s key is made in actions, exported and imported', (_title, algorithm, usages, shown) => {
    const body = `
      const how = ${JSON.stringify(algorithm)};
      const key = await s.generateKey(how, true, ${JSON.stringify(usages)});
      const raw = await s.exportKey('raw', key), jwk = await s.exportKey('jwk', key);
      const back = await s.importKey('jwk', jwk, how, true, key.usages);
      return [key.algorithm, key.usages, key.type, hex(await s.exportKey('raw', back)) === hex(raw), jwk.kty, String(key)]`;
    expect(realm.in('action', body)).toEqual([shown, usages, 'secret', true, 'oct', '[object CryptoKey]']);
  });

  test('an RSA-OAEP pair encrypts with one half and decrypts with the other', () => {
    const body = `
      const how = {name: 'RSA-OAEP', hash: 'SHA-1', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1])};
      const {privateKey, publicKey} = await s.generateKey(how, false, ['encrypt', 'decrypt']);
      const label = bytes('l');
      const packed = await s.encrypt({name: 'RSA-OAEP', label}, publicKey, bytes('hi'));
      const opened = new TextDecoder().decode(await s.decrypt({name: 'RSA-OAEP', label}, privateKey, packed));
      const wrong = await s.decrypt({name: 'RSA-OAEP'}, privateKey, packed).catch(e => e.name);
      return [opened, wrong, publicKey.extractable, privateKey.extractable, publicKey.algorithm.modulusLength, [...publicKey.algorithm.publicExponent]]`;
    expect(realm.in('action', body)).toEqual(['hi', 'OperationError', true, false, 2048, [1, 0, 1]]);
  });

  test('a raw public key of ECDSA and Ed25519', () => {
    const body = `
      const out = [];
      for (const how of [{name: 'ECDSA', namedCurve: 'P-384'}, {name: 'Ed25519'}]) {
        const {publicKey} = await s.generateKey(how, true, ['sign', 'verify']);
        const raw = await s.exportKey('raw', publicKey);
        const back = await s.importKey('raw', raw, how, true, ['verify']);
        out.push(raw.byteLength, hex(await s.exportKey('spki', back)) === hex(await s.exportKey('spki', publicKey)));
      }
      return out`;
    expect(realm.in('action', body)).toEqual([97, true, 32, true]);
  });

  test('deriveKey makes a key that works', () => {
    const body = `
      const secret = await s.importKey('raw', bytes('pw'), 'PBKDF2', false, ['deriveKey']);
      const how = {name: 'PBKDF2', hash: 'SHA-256', salt: bytes('salt'), iterations: 100};
      const key = await s.deriveKey(how, secret, {name: 'AES-GCM', length: 128}, false, ['encrypt', 'decrypt']);
      const gcm = {name: 'AES-GCM', iv: new Uint8Array(12), additionalData: bytes('a'), tagLength: 96};
      return new TextDecoder().decode(await s.decrypt(gcm, key, await s.encrypt(gcm, key, bytes('hi'))))`;
    expect(realm.in('query', body)).toBe('hi');
  });

  test('what a key is made of is not on it', () => {
    const body = "const k = await hmac('SHA-256'); return [Reflect.ownKeys(k), JSON.stringify(k)]";
    expect(realm.in('query', body)).toEqual([[], '{}']);
  });
});

describe('refused', () => {
  test.each(['import', 'query', 'mutation'] as const)('generateKey in %s', phase => {
    const body = "await s.generateKey({name: 'HMAC', hash: 'SHA-256'}, true, ['sign'])";
    expect(() => realm.in(phase, body)).toThrow('cryptographic randomness');
  });

  test.each([
    ['s.wrapKey()', 'Not implemented'],
    ['s.unwrapKey()', 'Not implemented'],
    ["await s.digest('MD5', bytes(''))", 'NotSupportedError'],
    ["await s.digest('constructor', bytes(''))", 'NotSupportedError'],
    ["await s.digest('SHA-1', 'text')", 'TypeError'],
    [`await s.digest('SHA-1', new Uint8Array(${CRYPTO_INPUT_BYTES_MAX + 1}))`, 'OperationError'],
    ["await s.sign('HMAC', await hmac('SHA-1', ['verify']), bytes(''))", 'InvalidAccessError'],
    ["await s.sign('ECDSA', await hmac('SHA-1'), bytes(''))", 'InvalidAccessError'],
    ["await s.sign('HMAC', {}, bytes(''))", 'TypeError'],
    ["await s.exportKey('raw', await hmac('SHA-1', ['sign'], false))", 'InvalidAccessError'],
    ["await s.exportKey('spki', await hmac('SHA-1'))", 'NotSupportedError'],
    ["await hmac('SHA-1', ['encrypt'])", 'SyntaxError'],
    ["await hmac('SHA-1', [])", 'SyntaxError'],
    ["await hmac('SHA-3')", 'NotSupportedError'],
    ["await s.importKey('raw', new Uint8Array(5), 'AES-GCM', true, ['encrypt'])", 'DataError'],
    ["await s.importKey('raw', new Uint8Array(0), {name: 'HMAC', hash: 'SHA-1'}, true, ['sign'])", 'DataError'],
    [
      "await s.importKey('spki', bytes('nonsense'), {name: 'ECDSA', namedCurve: 'P-256'}, true, ['verify'])",
      'DataError',
    ],
    ["await s.importKey('jwk', {kty: 'EC'}, {name: 'ECDSA', namedCurve: 'P-256'}, true, ['verify'])", 'DataError'],
    [
      "await s.importKey('raw', new Uint8Array(65), {name: 'ECDSA', namedCurve: 'P-256'}, true, ['verify'])",
      'DataError',
    ],
    ["await s.importKey('raw', bytes('x'), 'PBKDF2', true, ['deriveBits'])", 'SyntaxError'],
    ['new CryptoKey()', 'Illegal constructor'],
    ['crypto.getRandomValues(new Uint8Array(65537))', 'QuotaExceededError'],
    ['crypto.getRandomValues(new Float64Array(1))', 'TypeMismatchError'],
    [
      `await s.deriveBits({name: 'PBKDF2', hash: 'SHA-256', salt: bytes(''), iterations: ${PBKDF2_WORK_MAX + 1}}, await s.importKey('raw', bytes('x'), 'PBKDF2', false, ['deriveBits']), 8)`,
      'OperationError',
    ],
    [
      `await s.deriveBits({name: 'PBKDF2', hash: 'SHA-256', salt: bytes(''), iterations: ${PBKDF2_WORK_MAX}}, await s.importKey('raw', bytes('x'), 'PBKDF2', false, ['deriveBits']), 512)`,
      'OperationError',
    ],
    [
      "await s.decrypt({name: 'AES-GCM', iv: new Uint8Array(12)}, await s.importKey('raw', new Uint8Array(16), 'AES-GCM', true, ['decrypt']), new Uint8Array(32))",
      'OperationError',
    ],
    [
      "await s.encrypt({name: 'AES-CBC', iv: new Uint8Array(12)}, await s.importKey('raw', new Uint8Array(16), 'AES-CBC', true, ['encrypt']), new Uint8Array(32))",
      'OperationError',
    ],
  ])('%s', (body, message) => {
    expect(() => realm.in('query', `return ${body}`)).toThrow(message);
  });
});

describe('the host answers whatever it is asked', () => {
  const PARAMETERS = ['', 'null', '1', '[]', '{}', '{', '"x"', '{"name":{},"hash":[],"key":1}', '{"hash":"__proto__"}',
    '{"name":"HMAC","hash":"SHA-256"}', '{"name":"AES-GCM","key":"AAAA","iv":""}', '{"name":"ECDSA","keyType":"private"}',
    '{"name":"RSA-PSS","hash":"SHA-1","key":"AAAA","keyType":"public","saltLength":1e99}',
    '{"name":"HKDF","hash":"SHA-1","length":1e15}', '{"name":"PBKDF2","hash":"SHA-1","iterations":-1,"length":8}',
    '{"name":"HMAC","format":"jwk","data":"bnVsbA=="}', '{"name":"ECDSA","namedCurve":"toString","format":"raw","data":""}',
    '{"name":"RSA-OAEP","modulusLength":99999,"publicExponent":3}', '{"name":"AES-CTR","key":"AAAAAAAAAAAAAAAAAAAAAA==","iv":"AAAAAAAAAAAAAAAAAAAAAA==","length":129}']; // biome-ignore format: a list
  const OPERATIONS = ['digest', 'sign', 'verify', 'encrypt', 'decrypt', 'deriveBits', 'importKey', 'exportKey', 'generateKey',
    'constructor', '__proto__', '']; // biome-ignore format: a list

  test.each(OPERATIONS)('%s', operation => {
    for (const parameters of PARAMETERS) {
      const answer = cryptoCall(operation, parameters, new Uint8Array(3));
      expect(answer[0]).toMatch(/[+-]/);
      if (answer[0] === '-') expect(Object.keys(JSON.parse(answer.slice(1)) as object)).toEqual(['name', 'message']);
      expect(answer).not.toMatch(/openssl|node:|\.ts/i);
    }
  });
});
