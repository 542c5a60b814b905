/** Sends a restored tenant, and the packages of its deployments, to the server that runs on the data directory. */
import {createReadStream} from 'node:fs';
import {readFile, rm} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';
import type {FileItem} from '../../copies/repository/tenant-copies.ts';
import type {Restored} from '../../copies/restore/restore-file.ts';
import {packagesOf} from '../../copies/restore/restore-packages.ts';
import {PACKAGES_MAX} from '../../shared/limits.ts';
import {type ServerOptions, ServiceClient} from '../client.ts';
import {CommandFailure} from '../failure.ts';
import {type Looked, withFile} from './look.ts';
import type {Wanted} from './make-file.ts';
import type {Placing} from './place.ts';

const TYPE = 'application/vnd.sqlite3';

/** @throws CommandFailure; as `makeFile` */
export async function sendTenant(wanted: Looked, placing: Placing, options: ServerOptions): Promise<Restored> {
  const {as, replace, live} = placing;
  const client = await ServiceClient.open(options, 1);
  try {
    // Before anything is restored.
    const {tenants} = await client.ask('tenants.list', []);
    const isThere = tenants.includes(as);
    if (isThere && !replace) {
      throw new CommandFailure(`there is a tenant ${as}: give --as OTHER for a second one, or --replace`);
    }
    const packages = await packagesOf(wanted.repository, wanted.tenant);
    return await withFile(wanted, async (path, restored) => {
      // Nothing runs before its packages are there.
      const isLive = live && packages.length === 0;
      const query = {...(isThere ? {replace: 'true' as const} : {}), ...(isLive ? {live: 'true' as const} : {})};
      const {signal} = new AbortController();
      await client.upload('tenants.import', [as], query, () => createReadStream(path), {
        type: TYPE,
        once: true,
        signal,
      });
      await sendPackages(wanted, packages, client, as, dirname(path));
      if (live && !isLive) await client.ask('tenants.resume', [as]);
      return restored;
    });
  } finally {
    await client.close();
  }
}

/** Those that the server lacks, one after another. @param scratch a directory of this process */
async function sendPackages(
  {repository, tenant}: Wanted,
  packages: readonly FileItem[],
  client: ServiceClient,
  as: string,
  scratch: string,
): Promise<void> {
  const bySha512 = new Map(packages.map(item => [basename(item.name, '.tgz'), item]));
  const all = [...bySha512.keys()];
  for (let at = 0; at < all.length; at += PACKAGES_MAX) {
    const {missing} = await client.ask('packages.missing', [as], {body: {packages: all.slice(at, at + PACKAGES_MAX)}});
    for (const sha512 of missing) {
      const path = join(scratch, `${sha512}.tgz`);
      await repository.fetch(tenant, bySha512.get(sha512)!, path);
      await client.ask('packages.put', [as, sha512], {body: await readFile(path)});
      await rm(path);
    }
  }
}
