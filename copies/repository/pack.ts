/**
 * A pack: sealed segments of any tenants, and at its end their index, so that one request stores the changes of all
 * tenants, and one reads what a pack has.
 *
 *   segment ─ segment … ─ index, sealed ─ bytes of the index 4 ─ "svcpack1"
 *
 * Segments are sealed with the data keys of their tenants, and the index with the repository's key.
 */
import {PACK_END_BYTES} from '../limits.ts';
import type {ObjectInfo, ObjectStore} from '../store/object-store.ts';
import {sealJson, unsealJson} from './json.ts';
import {damaged} from './repository-error.ts';
import type {SealContext} from './sealed.ts';
import {type Item, isFile, type Origin} from './tenant-copies.ts';

const MAGIC = Buffer.from('svcpack1');
const END_BYTES = 4 + MAGIC.length;

export type PackEntry = {
  readonly tenant: string;
  /** Id of the data key. */
  readonly key: string;
  readonly item: Item;
  /** Of the timeline, if it is known. */
  readonly origin: Origin | null;
  /** Made of items that were in the repository. */
  readonly isMerged: boolean;
};

export type PackIndex = {
  readonly format: 1;
  readonly counter: number;
  /** Of the lease under which it was written. */
  readonly epoch: number;
  readonly storedMs: number;
  /** Names of packs that were completed since the index before: a reader notices if one is gone. */
  readonly previous: readonly string[];
  /** Names of packs that were not completed: there can be something in the store, and it does not count. */
  readonly failed: readonly string[];
  readonly entries: readonly PackEntry[];
};

/** What binds a segment to its repository, tenant and range. */
export function segmentContext(repositoryId: string, tenant: string, item: Omit<Item, 'place'>): SealContext {
  const of = item as Item;
  const range = isFile(of) ? [of.name] : [of.timeline, of.first, of.last];
  return [repositoryId, 'segment', tenant, of.kind, ...range];
}

/** The bytes that follow the segments. */
export async function packEnd(key: Buffer, repositoryId: string, index: PackIndex): Promise<Buffer> {
  const sealed = await sealJson(key, [repositoryId, 'pack', index.counter], index);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(sealed.length);
  return Buffer.concat([sealed, length, MAGIC]);
}

/** Null: the pack is gone. @throws RepositoryError `damaged`; StoreError */
export async function readPackIndex(
  store: ObjectStore,
  key: Buffer,
  repositoryId: string,
  {name, bytes, counter}: Pick<ObjectInfo, 'name' | 'bytes'> & {counter: number},
): Promise<PackIndex | null> {
  const from = Math.max(0, bytes - PACK_END_BYTES);
  const end = await store.get(name, {at: from, length: bytes - from});
  if (end === null) return null;
  if (end.length < END_BYTES || !end.subarray(-MAGIC.length).equals(MAGIC)) throw damaged(name, 'it has no end');
  const length = end.readUInt32BE(end.length - END_BYTES);
  const at = bytes - END_BYTES - length;
  if (at < 0) throw damaged(name, `its index has ${length} bytes, and it has ${bytes}`);
  const sealed = at >= from ? end.subarray(at - from, end.length - END_BYTES) : await store.get(name, {at, length});
  if (sealed === null) return null;
  try {
    const index = (await unsealJson(key, [repositoryId, 'pack', counter], sealed)) as PackIndex;
    if (index.format !== 1) throw new Error(`its index has the format ${index.format}`);
    return index;
  } catch (caught) {
    throw damaged(name, (caught as Error).message, caught);
  }
}
