/** JSON as sealed objects have it: compressed, with a limit. */
import {promisify} from 'node:util';
import {deflateRaw, inflateRaw} from 'node:zlib';
import {SEALED_JSON_BYTES_MAX} from '../limits.ts';
import {type SealContext, seal, unseal} from './sealed.ts';

const deflated = promisify<Buffer, Buffer>(deflateRaw);
const inflated = promisify<Buffer, {maxOutputLength: number}, Buffer>(inflateRaw);

export async function sealJson(key: Buffer, context: SealContext, value: unknown): Promise<Buffer> {
  return seal(key, context, await deflated(Buffer.from(JSON.stringify(value))));
}

/** @throws UnsealError; an error of zlib or of JSON.parse */
export async function unsealJson(key: Buffer, context: SealContext, sealed: Buffer): Promise<unknown> {
  const text = await inflated(unseal(key, context, sealed), {maxOutputLength: SEALED_JSON_BYTES_MAX});
  return JSON.parse(text.toString());
}
