/** A repository in a directory of its own, and page sets of a small history to put into it. */
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {newRepositoryKey, parseRepositoryKey} from '../../../copies/repository/keys.ts';
import type {NewSegment} from '../../../copies/repository/new-segment.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import type {Item} from '../../../copies/repository/tenant-copies.ts';
import {DirectoryStore} from '../../../copies/store/directory-store.ts';
import type {ObjectStore} from '../../../copies/store/object-store.ts';
import {type History, SMALL, setBytes} from '../model.ts';

export const SERVER_A = {host: 'alpha', serverId: 'server-a'};
export const SERVER_B = {host: 'beta', serverId: 'server-b'};

export function scratch(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-repository-'));
  onTestFinished(() => rmSync(path, {recursive: true, force: true}));
  return path;
}

/** @param store undefined: a directory */
export async function made(
  store: ObjectStore = new DirectoryStore(join(scratch(), 'repository')),
): Promise<{store: ObjectStore; key: Buffer; repository: Repository}> {
  const key = parseRepositoryKey(newRepositoryKey());
  return {store, key, repository: await Repository.init(store, key)};
}

export async function writerOf(repository: Repository, server = SERVER_A): Promise<RepositoryWriter> {
  const writer = await RepositoryWriter.open(repository, server);
  onTestFinished(() => writer.release().catch(() => undefined));
  return writer;
}

/** The page set of commits of a history; from 0 it is a base. */
export function segment(
  tenant: string,
  first: number,
  last: number,
  {history = SMALL, timeline}: {history?: History; timeline?: string} = {},
): NewSegment {
  const bytes = setBytes(history, {first, last, ...(timeline === undefined ? {} : {timeline})});
  return {tenant, kind: first === 0 ? 'base' : 'set', bytes};
}

export async function fetched(repository: Repository, tenant: string, item: Item): Promise<Buffer> {
  const path = join(scratch(), 'item');
  await repository.fetch(tenant, item, path);
  return readFileSync(path);
}
