/** Stores packs, and reads them back: a store that says it has stored an object may have stored less, or nothing. */
import {createHash} from 'node:crypto';
import {assert} from '../../shared/assert.ts';
import {SEGMENT_BYTES_MAX} from '../limits.ts';
import type {ObjectStore} from '../store/object-store.ts';
import {StoreError} from '../store/store-error.ts';
import type {DataKey} from './keys.ts';
import {type LargeSource, type NewSegment, placed, type UnplacedItem} from './new-segment.ts';
import {type PackEntry, type PackIndex, packEnd, segmentContext} from './pack.ts';
import {seal, sealedLength, sealedParts} from './sealed.ts';

export type Sealing = {readonly repositoryId: string; readonly indexKey: Buffer};

/** A segment before it has a place. */
export type Prepared = {
  readonly tenant: string;
  readonly key: DataKey;
  readonly item: UnplacedItem;
  readonly sealed: Buffer;
} & Pick<PackEntry, 'origin' | 'isMerged'>;

export function prepared(repositoryId: string, key: DataKey, segment: NewSegment, item: UnplacedItem): Prepared {
  const {tenant, bytes} = segment;
  assert(bytes.length <= SEGMENT_BYTES_MAX, `a segment of ${bytes.length} bytes is a file`);
  const sealed = seal(key.bytes, segmentContext(repositoryId, tenant, item), bytes);
  return {tenant, key, item, sealed, ...originOf(segment)};
}

export function originOf(segment: object): Pick<PackEntry, 'origin' | 'isMerged'> {
  const {origin, isMerged} = segment as Partial<Pick<PackEntry, 'origin' | 'isMerged'>>;
  return {origin: origin ?? null, isMerged: isMerged === true};
}

/** @returns what the index of the pack has. @throws StoreError */
export async function storePack(
  store: ObjectStore,
  {repositoryId, indexKey}: Sealing,
  name: string,
  index: Omit<PackIndex, 'entries'>,
  segments: readonly Prepared[],
): Promise<PackEntry[]> {
  const entries: PackEntry[] = [];
  let at = 0;
  for (const {tenant, key, item, sealed, origin, isMerged} of segments) {
    const place = {pack: name, at, sealedBytes: sealed.length};
    entries.push({tenant, key: key.id, item: placed(item, place), origin, isMerged});
    at += sealed.length;
  }
  const end = await packEnd(indexKey, repositoryId, {...index, entries});
  await putAndReadBack(store, name, Buffer.concat([...segments.map(({sealed}) => sealed), end]));
  return entries;
}

/** A pack with one segment of any size. @throws StoreError; PageSetError */
export async function storeLargePack(
  store: ObjectStore,
  {repositoryId, indexKey}: Sealing,
  name: string,
  index: Omit<PackIndex, 'entries'>,
  {
    tenant,
    key,
    source,
    ...rest
  }: {tenant: string; key: DataKey; source: LargeSource} & Pick<PackEntry, 'origin' | 'isMerged'>,
): Promise<PackEntry> {
  const sum = createHash('sha256');
  const context = segmentContext(repositoryId, tenant, source.facts);
  const place = {pack: name, at: 0, sealedBytes: sealedLength(source.bytes)};
  let entry: PackEntry | null = null;
  const parts = async function* (): AsyncGenerator<Buffer, void, undefined> {
    let item: UnplacedItem | null = null;
    const plain = async function* (): AsyncGenerator<Buffer, void, undefined> {
      item = yield* source.parts();
    };
    for await (const part of sealedParts(key.bytes, context, plain())) {
      sum.update(part);
      yield part;
    }
    assert(item !== null, 'the source was read');
    entry = {tenant, key: key.id, item: placed(item, place), ...rest};
    const end = await packEnd(indexKey, repositoryId, {...index, entries: [entry]});
    sum.update(end);
    yield end;
  };
  await store.putStream(name, parts());
  const found = createHash('sha256');
  for await (const part of (await store.stream(name)) ?? []) found.update(part);
  if (entry === null || !found.digest().equals(sum.digest())) throw notKept(name);
  return entry;
}

/** @throws StoreError */
export async function putAndReadBack(store: ObjectStore, name: string, bytes: Buffer): Promise<void> {
  await store.put(name, bytes);
  const found = await store.get(name);
  if (found === null || !found.equals(bytes)) throw notKept(name);
}

function notKept(name: string): StoreError {
  return new StoreError('unavailable', `the store said that it has ${name}, and does not have its bytes`);
}
