/** Metas of answers, as `response` frames have them (shared/ipc/operations.ts). */
import type {HeaderList, ResponseMeta} from '../../shared/ipc/operations.ts';

/** The last serialised meta, as a cache: CORS headers of calls are the same list for all. */
let made: {status: number; headers: HeaderList; meta: string} | null = null;

/** @param headers further ones. @param etag empty: none */
export function metaOf(status: number, headers: HeaderList | null, etag: string): string {
  if (etag !== '') return status === 200 && headers === null ? etag : taggedMeta(status, headers, etag);
  if (headers !== null && headers.length > 0) return metaWith(status, headers);
  return status === 200 ? '' : `{"s":${status}}`;
}

function metaWith(status: number, headers: HeaderList): string {
  if (made === null || made.headers !== headers || made.status !== status) {
    made = {status, headers, meta: JSON.stringify({s: status, h: headers} satisfies ResponseMeta)};
  }
  return made.meta;
}

function taggedMeta(status: number, headers: HeaderList | null, etag: string): string {
  return JSON.stringify({s: status, e: etag, ...(headers === null ? {} : {h: headers})} satisfies ResponseMeta);
}

/** Of a result of a query function that the router may cache. */
export function resultMeta(headers: HeaderList | null, number: number, name: string): string {
  const meta: ResponseMeta = {s: 200, c: [number, name]};
  if (headers !== null && headers.length > 0) meta.h = headers;
  return JSON.stringify(meta);
}

/** Of an app's own answer: its content type, or none. */
export function appMeta(status: number, headers: HeaderList): ResponseMeta {
  const isType = ([name]: readonly [string, string]) => name.toLowerCase() === 'content-type';
  return {s: status, h: headers.filter(header => !isType(header)), t: headers.find(isType)?.[1] ?? ''};
}
