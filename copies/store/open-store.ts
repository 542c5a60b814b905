/** Opens the store that a URL names: `file:///path`, a plain path, or `s3://bucket/prefix`. */
import {resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {DirectoryStore} from './directory-store.ts';
import type {ObjectStore} from './object-store.ts';

/** The URL names no store. The message is for the user. */
export class StoreUrlError extends Error {
  override name = 'StoreUrlError';
}

/** @throws StoreUrlError */
export async function openStore(url: string): Promise<ObjectStore> {
  if (url === '')
    throw new StoreUrlError('a repository is a path, file:///path or s3://bucket/prefix, not an empty text');
  if (!/^[a-z][a-z0-9+.-]+:/i.test(url)) return new DirectoryStore(resolve(url));
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol === 'file:' && parsed.host === '') return new DirectoryStore(fileURLToPath(parsed));
  throw new StoreUrlError(`a repository is a path, file:///path or s3://bucket/prefix, not ${url}`);
}
