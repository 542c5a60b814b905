/** `svc backup init --to REPOSITORY --key FILE` makes a repository, and its key file unless there is one. */
import {open, readFile, rm} from 'node:fs/promises';
import {dirname, resolve} from 'node:path';
import type {Command} from 'commander';
import {newRepositoryKey, parseRepositoryKey} from '../../copies/repository/keys.ts';
import {Repository} from '../../copies/repository/repository.ts';
import {openStore} from '../../copies/store/open-store.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {CommandFailure} from '../failure.ts';
import {reportRepositoryFailure} from './at-repository.ts';

type Options = {to?: string; key?: string};

export function register(backup: Command): void {
  backup
    .command('init')
    .description('make a repository for copies, and its key')
    .option(
      '--to <repository>',
      'a path, file:///path or s3://bucket/prefix (SVC_BACKUP_TO)',
      process.env.SVC_BACKUP_TO,
    )
    .option('--key <file>', 'its key; made if it is missing (SVC_BACKUP_KEY)', process.env.SVC_BACKUP_KEY)
    .action((options: Options) => reportRepositoryFailure('svc backup init', () => init(options)));
}

async function init({to, key}: Options): Promise<void> {
  if (to === undefined) throw new CommandFailure('--to says where the repository is to be', 2);
  if (key === undefined) throw new CommandFailure('--key says where the key file is, or is to be', 2);
  const store = await openStore(to);
  const file = resolve(key);
  // The key is on disk before anything is sealed with it.
  const isNew = await makeKey(file);
  try {
    await Repository.init(store, parseRepositoryKey(await readFile(file, 'utf8')));
  } catch (caught) {
    if (isNew) await rm(file);
    throw caught;
  } finally {
    store.close();
  }
  process.stdout.write(`${store.url} is a repository for copies now\n`);
  process.stderr.write(
    `its key is ${file}${isNew ? ', which was made' : ''}: keep a copy of the key somewhere else. ` +
      'Without it no copy can be read, and with it everyone who has the copies can read them\n',
  );
}

/** @returns whether there was none. @throws CommandFailure */
async function makeKey(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(newRepositoryKey());
      await file.sync();
    } finally {
      await file.close();
    }
    await syncDirectory(dirname(path));
    return true;
  } catch (caught) {
    const {code, message} = caught as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw new CommandFailure(`the key file cannot be made: ${message}`, 1, {cause: caught});
  }
}
