/** Runs a verb that reads a repository: opens it, and turns its errors into sentences and exit codes. */
import {readFile} from 'node:fs/promises';
import type {Command} from 'commander';
import {parseRepositoryKey} from '../../copies/repository/keys.ts';
import {Repository} from '../../copies/repository/repository.ts';
import {RepositoryError} from '../../copies/repository/repository-error.ts';
import {RestoreError} from '../../copies/restore/restore-error.ts';
import {openStore} from '../../copies/store/open-store.ts';
import {StoreError, StoreUrlError} from '../../copies/store/store-error.ts';
import {ServiceError} from '../../shared/errors.ts';
import {CommandFailure, reportFailure} from '../failure.ts';
import {exitCodeOf} from './exit-codes.ts';

export type RepositoryOptions = {from?: string; key?: string};

/** The options of a verb that reads a repository. */
export function addRepositoryOptions(command: Command): Command {
  return command
    .option('--from <repository>', 'where the copies are (SVC_BACKUP_TO)', process.env.SVC_BACKUP_TO)
    .option('--key <file>', 'the key of the repository (SVC_BACKUP_KEY)', process.env.SVC_BACKUP_KEY);
}

export function atRepository(
  verb: string,
  options: RepositoryOptions,
  act: (repository: Repository) => Promise<void>,
): Promise<void> {
  return reportRepositoryFailure(verb, async () => {
    const repository = await opened(options);
    try {
      await act(repository);
    } finally {
      repository.close();
    }
  });
}

/** Errors of repositories and stores become a sentence and an exit code. */
export function reportRepositoryFailure(verb: string, act: () => Promise<void>): Promise<void> {
  return reportFailure(verb, async () => {
    try {
      await act();
    } catch (caught) {
      throw asFailure(caught);
    }
  });
}

async function opened({from, key}: RepositoryOptions): Promise<Repository> {
  if (from === undefined) throw new CommandFailure('--from says where the repository is', 2);
  if (key === undefined) throw new CommandFailure('--key says where the key file of the repository is', 2);
  const text = await readFile(key, 'utf8').catch((caught: NodeJS.ErrnoException) => {
    throw new CommandFailure(`the key file ${key} cannot be read: ${caught.message}`, exitCodeOf('wrong_key'));
  });
  return Repository.open(await openStore(from), parseRepositoryKey(text));
}

function asFailure(caught: unknown): unknown {
  if (caught instanceof StoreUrlError) return new CommandFailure(caught.message, 2);
  if (caught instanceof RepositoryError) return new CommandFailure(caught.message, exitCodeOf(caught.code));
  const isOurs = caught instanceof StoreError || caught instanceof RestoreError || caught instanceof ServiceError;
  return isOurs ? new CommandFailure(caught.message, 1, {cause: caught}) : caught;
}
