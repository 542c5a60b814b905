/** A repository in a directory, with its key in a file, for a service that makes backups. */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {newRepositoryKey, parseRepositoryKey} from '../../copies/repository/keys.ts';
import {Repository} from '../../copies/repository/repository.ts';
import {DirectoryStore} from '../../copies/store/directory-store.ts';

export type TestRepository = {
  directory: string;
  keyFile: string;
  /** Of `svc start`. */
  args: string[];
  open(): Promise<Repository>;
};

/** @param after registers what removes it @param parent of the repository; undefined: a new directory */
export async function testRepository(after: (remove: () => void) => void, parent?: string): Promise<TestRepository> {
  const root = mkdtempSync(join(tmpdir(), 'svc-repository-'));
  after(() => rmSync(root, {recursive: true, force: true}));
  const [directory, keyFile] = [join(parent ?? root, 'repository'), join(root, 'key')];
  const text = newRepositoryKey();
  writeFileSync(keyFile, text, {mode: 0o600});
  const key = parseRepositoryKey(text);
  await Repository.init(new DirectoryStore(directory), key);
  return {
    directory,
    keyFile,
    args: ['--backup-to', directory, '--backup-key', keyFile, '--backup-every', '100ms'],
    open: () => Repository.open(new DirectoryStore(directory), key),
  };
}

export async function backupArgs(after: (remove: () => void) => void): Promise<string[]> {
  return (await testRepository(after)).args;
}
