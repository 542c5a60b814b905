/** Opens the store that a URL names: `file:///path`, a plain path, or `s3://bucket/prefix`. */
import {resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {DirectoryStore} from './directory-store.ts';
import type {ObjectStore} from './object-store.ts';
import {StoreUrlError} from './store-error.ts';

/** @throws StoreUrlError */
export async function openStore(url: string): Promise<ObjectStore> {
  if (url === '') throw new StoreUrlError(expected('an empty text'));
  if (!/^[a-z][a-z0-9+.-]+:/i.test(url)) return new DirectoryStore(resolve(url));
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol === 'file:' && parsed.host === '') return new DirectoryStore(fileURLToPath(parsed));
  if (parsed?.protocol === 's3:') return new (await import('./s3-store.ts')).S3Store(parsed);
  throw new StoreUrlError(expected(url));
}

function expected(found: string): string {
  return `a repository is a path, file:///path or s3://bucket/prefix, not ${found}`;
}
