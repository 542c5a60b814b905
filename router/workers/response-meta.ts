/** Decodes the meta of a `response` frame. Empty stands for a plain 200, which is most of them. */
import type {Buffer} from 'node:buffer';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {ResponseMeta} from '../../shared/ipc/operations.ts';

const PLAIN: ResponseMeta = {s: 200};

/** @throws MalformedFrame */
export function parseResponseMeta(meta: Buffer): ResponseMeta {
  if (meta.length === 0) return PLAIN;
  let parsed: unknown;
  try {
    parsed = JSON.parse(meta.toString('utf8'));
  } catch (cause) {
    throw new MalformedFrame('response meta is not JSON', {cause});
  }
  const {s, ra} = (parsed ?? {}) as Partial<ResponseMeta>;
  if (!isWithin(s, 200, 599)) throw new MalformedFrame('response meta without a status');
  if (ra !== undefined && !isWithin(ra, 0, 86_400)) throw new MalformedFrame('response meta with a bad Retry-After');
  return parsed as ResponseMeta;
}

function isWithin(value: number | undefined, least: number, most: number): boolean {
  return Number.isInteger(value) && value! >= least && value! <= most;
}
