/** Decodes the meta of a `response` frame. Empty stands for a plain 200, which is most of them. What a worker says is checked. */
import type {Buffer} from 'node:buffer';
import {isHeaderList} from '../../shared/http-headers.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {ResponseMeta} from '../../shared/ipc/operations.ts';
import {headersFault} from '../../shared/ipc/response-headers.ts';

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
  const {s, ra, h = [], t = ''} = (parsed ?? {}) as Partial<ResponseMeta>;
  if (!isWithin(s, 200, 599)) throw new MalformedFrame('response meta without a status');
  if (ra !== undefined && !isWithin(ra, 0, 86_400)) throw new MalformedFrame('response meta with a bad Retry-After');
  if (!isHeaderList(h) || typeof t !== 'string') throw new MalformedFrame('response meta with headers that are none');
  const fault = headersFault(t === '' ? h : [...h, ['Content-Type', t]]);
  if (fault !== null) throw new MalformedFrame(`response meta with headers that cannot be sent: ${fault}`);
  return parsed as ResponseMeta;
}

function isWithin(value: number | undefined, least: number, most: number): boolean {
  return Number.isInteger(value) && value! >= least && value! <= most;
}
