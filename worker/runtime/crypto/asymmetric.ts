/** Signatures and encryption with key pairs: RSASSA-PKCS1-v1_5, RSA-PSS, RSA-OAEP, ECDSA, Ed25519. */
import {constants, privateDecrypt, publicEncrypt, type SignKeyObjectInput, sign, verify} from 'node:crypto';
import {CryptoRefusal} from './crypto-refusal.ts';
import {keyObject} from './keys.ts';
import {bytesOf, type CryptoParameters, hashOf} from './parameters.ts';

export function asymmetricSign(parameters: CryptoParameters, bytes: Uint8Array): Buffer {
  return sign(digestOf(parameters), bytes, {key: keyObject(parameters, 'private'), ...padding(parameters)});
}

export function asymmetricVerify(parameters: CryptoParameters, bytes: Uint8Array, signature: Buffer): boolean {
  return verify(digestOf(parameters), bytes, {key: keyObject(parameters, 'public'), ...padding(parameters)}, signature);
}

export function asymmetricEncrypt(parameters: CryptoParameters, bytes: Uint8Array): Buffer {
  return publicEncrypt({key: keyObject(parameters, 'public'), ...oaep(parameters)}, bytes);
}

export function asymmetricDecrypt(parameters: CryptoParameters, bytes: Uint8Array): Buffer {
  return privateDecrypt({key: keyObject(parameters, 'private'), ...oaep(parameters)}, bytes);
}

/** Ed25519 has a built-in hash. */
function digestOf(parameters: CryptoParameters): string | null {
  return parameters.name === 'Ed25519' ? null : hashOf(parameters);
}

function padding({name, saltLength = 0}: CryptoParameters): Omit<SignKeyObjectInput, 'key'> {
  switch (name) {
    case 'RSASSA-PKCS1-v1_5':
      return {padding: constants.RSA_PKCS1_PADDING};
    case 'RSA-PSS':
      return {padding: constants.RSA_PKCS1_PSS_PADDING, saltLength};
    case 'ECDSA':
      return {dsaEncoding: 'ieee-p1363'};
    case 'Ed25519':
      return {};
    default:
      throw new CryptoRefusal('NotSupportedError', `the algorithm ${name} does not sign`);
  }
}

function oaep(parameters: CryptoParameters): {padding: number; oaepHash: string; oaepLabel: Buffer} {
  const oaepHash = hashOf(parameters);
  return {padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash, oaepLabel: bytesOf(parameters, 'label')};
}
