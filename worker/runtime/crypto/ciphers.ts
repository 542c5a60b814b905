/** AES in the modes of `crypto.subtle`: GCM, CBC, CTR. */
import {type CipherGCMTypes, createCipheriv, createDecipheriv} from 'node:crypto';
import {CryptoRefusal} from './crypto-refusal.ts';
import {bytesOf, type CryptoParameters, secretOf} from './parameters.ts';

const KEY_BYTES = [16, 24, 32];
const TAG_BITS = [32, 64, 96, 104, 112, 120, 128];
const BLOCK_BYTES = 16;

export function symmetricEncrypt(parameters: CryptoParameters, bytes: Uint8Array): Buffer {
  const {key, iv} = keyAndIv(parameters);
  if (parameters.name === 'AES-CTR') return counter(parameters, key, iv, bytes);
  if (parameters.name === 'AES-CBC') {
    const cipher = createCipheriv(`aes-${key.length * 8}-cbc`, key, iv);
    return Buffer.concat([cipher.update(bytes), cipher.final()]);
  }
  const authTagLength = tagBytes(parameters);
  const cipher = createCipheriv(gcm(key), key, iv, {authTagLength});
  cipher.setAAD(bytesOf(parameters, 'additionalData'));
  return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

export function symmetricDecrypt(parameters: CryptoParameters, bytes: Uint8Array): Buffer {
  const {key, iv} = keyAndIv(parameters);
  if (parameters.name === 'AES-CTR') return counter(parameters, key, iv, bytes);
  if (parameters.name === 'AES-CBC') {
    const decipher = createDecipheriv(`aes-${key.length * 8}-cbc`, key, iv);
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  }
  const authTagLength = tagBytes(parameters);
  if (bytes.byteLength < authTagLength) throw new CryptoRefusal('OperationError', 'the data is shorter than its tag');
  const end = bytes.byteLength - authTagLength;
  const decipher = createDecipheriv(gcm(key), key, iv, {authTagLength});
  decipher.setAAD(bytesOf(parameters, 'additionalData'));
  decipher.setAuthTag(bytes.subarray(end));
  return Buffer.concat([decipher.update(bytes.subarray(0, end)), decipher.final()]);
}

function keyAndIv(parameters: CryptoParameters): {key: Buffer; iv: Buffer} {
  const {name} = parameters;
  if (name !== 'AES-GCM' && name !== 'AES-CBC' && name !== 'AES-CTR') {
    throw new CryptoRefusal('NotSupportedError', `the algorithm ${name} is not supported`);
  }
  const key = secretOf(parameters);
  if (!KEY_BYTES.includes(key.length)) throw new CryptoRefusal('OperationError', 'the AES key has no valid length');
  const iv = bytesOf(parameters, 'iv');
  const isFitting = name === 'AES-GCM' ? iv.length > 0 : iv.length === BLOCK_BYTES;
  if (!isFitting) throw new CryptoRefusal('OperationError', `the initialization vector of ${name} has no valid length`);
  return {key, iv};
}

function gcm(key: Buffer): CipherGCMTypes {
  return `aes-${key.length * 8}-gcm` as CipherGCMTypes;
}

function tagBytes({tagLength = 128}: CryptoParameters): number {
  if (!TAG_BITS.includes(tagLength))
    throw new CryptoRefusal('OperationError', `${tagLength} is no tag length of AES-GCM`);
  return tagLength / 8;
}

/**
 * The counter mode of Web Crypto counts only in the lower bits of the block, but OpenSSL's counter is the whole block.
 * If the counter would overflow into the other bits, the input is split at that point, and the second part starts at
 * counter 0.
 */
function counter(parameters: CryptoParameters, key: Buffer, block: Buffer, bytes: Uint8Array): Buffer {
  const {length: bits = 0} = parameters;
  if (bits < 1 || bits > 128) throw new CryptoRefusal('OperationError', `${bits} is no counter length of AES-CTR`);
  const blocks = BigInt(Math.ceil(bytes.byteLength / BLOCK_BYTES));
  const size = 1n << BigInt(bits);
  if (blocks > size) throw new CryptoRefusal('OperationError', 'the data is longer than the counter counts');
  const whole = BigInt(`0x${block.toString('hex')}`);
  const left = size - (whole % size);
  const at = blocks > left ? Number(left) * BLOCK_BYTES : bytes.byteLength;
  const first = keyStream(key, block, bytes.subarray(0, at));
  if (at === bytes.byteLength) return first;
  const wrapped = Buffer.from((whole - (whole % size)).toString(16).padStart(BLOCK_BYTES * 2, '0'), 'hex');
  return Buffer.concat([first, keyStream(key, wrapped, bytes.subarray(at))]);
}

function keyStream(key: Buffer, block: Buffer, bytes: Uint8Array): Buffer {
  const cipher = createCipheriv(`aes-${key.length * 8}-ctr`, key, block);
  return Buffer.concat([cipher.update(bytes), cipher.final()]);
}
