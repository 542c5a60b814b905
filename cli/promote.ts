/**
 * `svc promote --data DIR` makes a directory that followed a repository a server's: it applies what is left in the
 * repository, takes over its lease, so that the old server stops copying, and gives every tenant a new timeline. If it
 * is interrupted, a second run goes on.
 */
import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {readdir, readFile, rename, rm} from 'node:fs/promises';
import {hostname} from 'node:os';
import {join} from 'node:path';
import type {Command} from 'commander';
import {keyName} from '../copies/repository/object-names.ts';
import type {Repository} from '../copies/repository/repository.ts';
import {RepositoryError} from '../copies/repository/repository-error.ts';
import {RepositoryWriter} from '../copies/repository/repository-writer.ts';
import {CopyError} from '../engine/copies/copy-error.ts';
import {CopyFile} from '../engine/copies/copy-file.ts';
import {STANDBY_DIRECTORY} from '../shared/standby.ts';
import {type AdoptNote, PACKAGES_DIRECTORY, TENANT_FILE} from '../shared/tenant-directory.ts';
import {placeAdopted, prepareAdoption} from '../supervisor/files/adoption.ts';
import {parseDirectoryName} from '../supervisor/files/directory-name.ts';
import {serverIdentity, serverPlace, storeIdentity} from '../supervisor/files/server-id.ts';
import {atRepository} from './backup/at-repository.ts';
import {EXIT_PARTIAL} from './backup/exit-codes.ts';
import {counted} from './counted.ts';
import {setAside} from './data-directory/set-aside.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {FOLLOW_NOTE, type FollowNote, STATE_DIRECTORY, STATE_FAULT, standbyOf} from './restore/follow.ts';
import {inDataDirectory, lastGeneration, type OwnedDirectory} from './restore/place.ts';
import {
  fetchServerState,
  isDeleted,
  placeServerState,
  type StoredTenants,
  storedTenants,
} from './restore/server-state.ts';

type Options = {data: string; key?: string};

export function register(program: Command): void {
  program
    .command('promote')
    .description('make a data directory that follows a repository the one of a server')
    .option('--data <directory>', 'the data directory (SVC_DATA)', process.env.SVC_DATA ?? './data')
    .option('--key <file>', 'the key of the repository, if it is elsewhere by now')
    .action((options: Options) =>
      reportFailure('svc promote', async () => {
        const {from, key} = await noteIn(options.data);
        await atRepository('svc promote', {from, key: options.key ?? key}, repository =>
          promote(repository, options.data),
        );
      }),
    );
}

async function noteIn(data: string): Promise<FollowNote> {
  const path = join(data, STANDBY_DIRECTORY, FOLLOW_NOTE);
  if (existsSync(path)) return JSON.parse(await readFile(path, 'utf8')) as FollowNote;
  throw new CommandFailure(`${data} follows no repository: svc restore --follow makes such a directory`);
}

async function promote(repository: Repository, data: string): Promise<void> {
  const done = await inDataDirectory(data, owned => promoteAll(owned, repository));
  if (done === null) throw new CommandFailure(`${data} is in use: end svc restore --follow first`);
  const {promoted, failed, older, missing, stateFault} = done.done;
  process.stdout.write(`promoted ${counted(promoted, 'tenant')}: svc start --data ${data} serves them\n`);
  const listed = (title: string, lines: string[]): string[] => (lines.length === 0 ? [] : [title, ...lines]);
  const faults = [
    ...listed('these are in set-aside/; try svc restore for each of them:', failed),
    ...listed('these may be older than what was stored:', older),
    ...listed('these were not followed; put the object back, then svc restore for each of them:', missing),
    ...(stateFault === null ? [] : [`${STATE_FAULT}: ${stateFault}`]),
  ];
  if (faults.length > 0) throw new CommandFailure(faults.join('\n  '), EXIT_PARTIAL);
}

type Promoted = {promoted: number; failed: string[]; older: string[]; missing: string[]; stateFault: string | null};

async function promoteAll(owned: OwnedDirectory, repository: Repository): Promise<Promoted> {
  const root = join(owned.data, STANDBY_DIRECTORY);
  for (const name of await readdir(root)) await putBack(join(root, name));
  // From here on the old server stores nothing more, also after a restart: the lease is the new server's, and not free.
  const identity = await serverIdentity(owned.data);
  await storeIdentity(owned.data, {...identity, repository_id: repository.id});
  const lease = {host: hostname(), serverId: identity.server_id, place: serverPlace(owned.data), force: true};
  (await RepositoryWriter.open(repository, lease)).abandon();
  const there = new Set(owned.registry.rows().map(({id}) => id));
  const stateFault = await fetchServerState(repository, join(root, STATE_DIRECTORY));
  const stored = await storedTenants(join(root, STATE_DIRECTORY));
  const {failed, gaps} = await standbyOf(repository, owned.data).sync(tenant => !there.has(tenant));
  // Without its data key nothing that was stored since can be read; the file is as good as it was.
  const keyless = new Map(failed.filter(isOfKey).map(({tenant, error}) => [tenant, error.message]));
  const unusable = failed.filter(({tenant}) => !keyless.has(tenant));
  const faults = unusable.map(({tenant, error}) => `${tenant}: ${error.message}`);
  const older: string[] = [];
  let promoted = there.size;
  for (const name of await readdir(root)) {
    const tenant = parseDirectoryName(name)?.id;
    if (tenant === undefined || there.has(tenant)) continue;
    if (unusable.some(one => one.tenant === tenant)) continue;
    const done = await promoteOne(owned, tenant, join(root, name), stored);
    if (done === 'promoted') promoted++;
    else if (done !== 'deleted') faults.push(`${tenant}: ${done.fault}`);
    const why = keyless.get(tenant);
    keyless.delete(tenant);
    if (done === 'promoted' && why !== undefined) older.push(`${tenant}: ${why}`);
  }
  const missing = [...keyless].map(([tenant, why]) => `${tenant}: ${why}`);
  await placeServerState(join(root, STATE_DIRECTORY), owned.data);
  if (faults.length === 0) await rm(root, {recursive: true});
  else await setAside(owned.data, root); // a server that starts has the others
  older.push(...[...gaps].map(([tenant, {finding}]) => `${tenant}: ${finding}`));
  return {promoted, failed: faults, older, missing, stateFault: stateFault?.message ?? null};
}

/** @returns `deleted`: the server had deleted it. `fault`: why its file cannot be used */
async function promoteOne(
  owned: OwnedDirectory,
  tenant: string,
  directory: string,
  stored: StoredTenants | null,
): Promise<'promoted' | 'deleted' | {fault: string}> {
  const path = join(directory, TENANT_FILE);
  let origin: AdoptNote['origin'];
  try {
    const copy = CopyFile.open(path);
    try {
      copy.verify();
      const {timeline, commit, timeMs} = copy.position;
      if (isDeleted(stored, tenant, timeMs)) return 'deleted';
      origin = {timeline, commit};
    } finally {
      copy.close();
    }
  } catch (caught) {
    if (caught instanceof CopyError) return {fault: caught.message};
    throw caught;
  }
  const note: AdoptNote = {
    ...{tenant, generation: lastGeneration(owned) + 1, created_ms: Date.now()},
    ...{
      timeline: randomBytes(16).toString('hex'),
      origin,
      replaces: null,
      serve: stored?.isPaused.get(tenant) === true ? 'reads' : 'all',
    },
  };
  const packages = join(directory, PACKAGES_DIRECTORY);
  const adopted = await prepareAdoption(path, note);
  if (existsSync(packages)) await rename(packages, join(adopted, PACKAGES_DIRECTORY));
  await placeAdopted(owned.files, owned.registry, note, adopted, Date.now());
  await rm(directory, {recursive: true});
  return 'promoted';
}

function isOfKey({tenant, error}: {tenant: string; error: Error}): boolean {
  return error instanceof RepositoryError && error.object === keyName(tenant);
}

/** A run that was killed left the file in the directory that was to become the tenant's. */
async function putBack(directory: string): Promise<void> {
  const adopted = join(directory, `${TENANT_FILE}.adopted`);
  if (!existsSync(adopted)) return;
  if (existsSync(join(adopted, TENANT_FILE))) await rename(join(adopted, TENANT_FILE), join(directory, TENANT_FILE));
  await rm(adopted, {recursive: true});
}
