/**
 * Validates the metadata of a router's request. A router of another version must lose its connection, not crash the
 * tenant's process.
 */
import type {Buffer} from 'node:buffer';
import {isHeaderList} from '../../shared/http-headers.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {OPERATIONS} from '../../shared/operations.ts';

const OPERATION_NAMES: ReadonlySet<unknown> = new Set(Object.keys(OPERATIONS));

/** @throws MalformedFrame */
export function parseRequestMeta(meta: Buffer): RequestMeta {
  let value: Partial<RequestMeta> | null;
  try {
    value = JSON.parse(meta.toString('utf8')) as Partial<RequestMeta> | null;
  } catch (cause) {
    throw new MalformedFrame('request meta is not JSON', {cause});
  }
  if (typeof value !== 'object' || value === null || !OPERATION_NAMES.has(value.op)) {
    throw new MalformedFrame('request meta names no operation');
  }
  const {p, q, k, im, nm, le, ct, r, a, o, m, u, h, w} = value;
  // Written out because it runs for every request: a loop with callbacks took as long as the parse.
  const areTexts = isText(q) && isText(k) && isText(r) && isText(a) && isText(o) && isText(m) && isText(u);
  const areConditions = isText(im) && isText(nm) && isText(le) && isText(ct);
  if (
    !areTexts ||
    !areConditions ||
    !areTextList(p) ||
    (h !== undefined && !isHeaderList(h)) ||
    (w !== undefined && w !== 1)
  ) {
    throw new MalformedFrame('request meta holds what no request has');
  }
  return value as RequestMeta;
}

/** A string or undefined. */
function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** A list of strings or undefined. */
function areTextList(values: unknown): boolean {
  if (values === undefined) return true;
  if (!Array.isArray(values)) return false;
  for (let i = 0; i < values.length; i++) if (typeof values[i] !== 'string') return false;
  return true;
}
