/** What a router sent, checked: a router of another version must cost its connection, not the tenant its process. */
import type {Buffer} from 'node:buffer';
import {isHeaderList} from '../../shared/http-headers.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {OPERATIONS} from '../../shared/operations.ts';

/** @throws MalformedFrame */
export function parseRequestMeta(meta: Buffer): RequestMeta {
  let value: Partial<RequestMeta> | null;
  try {
    value = JSON.parse(meta.toString('utf8')) as Partial<RequestMeta> | null;
  } catch (cause) {
    throw new MalformedFrame('request meta is not JSON', {cause});
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(OPERATIONS, String(value.op))) {
    throw new MalformedFrame('request meta names no operation');
  }
  const {p = [], q = '', k = '', r = '', a = '', o = '', m = '', u = '', h, w} = value;
  const areTexts = [q, k, r, a, o, m, u].every(isText) && Array.isArray(p) && p.every(isText);
  if (!areTexts || (h !== undefined && !isHeaderList(h)) || (w !== undefined && w !== 1)) {
    throw new MalformedFrame('request meta holds what no request has');
  }
  return value as RequestMeta;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
