/** Sends a restored tenant to the server that runs on the data directory. */
import {createReadStream} from 'node:fs';
import type {Restored} from '../../copies/restore/restore-file.ts';
import {type ServerOptions, ServiceClient} from '../client.ts';
import {CommandFailure} from '../failure.ts';
import {withFile} from './look.ts';
import type {Wanted} from './make-file.ts';
import type {Placing} from './place.ts';

const TYPE = 'application/vnd.sqlite3';

/** @throws CommandFailure; as `makeFile` */
export async function sendTenant(wanted: Wanted, placing: Placing, options: ServerOptions): Promise<Restored> {
  const {as, replace, live} = placing;
  const client = await ServiceClient.open(options, 1);
  try {
    // Before anything is restored.
    const {tenants} = await client.ask('tenants.list', []);
    const isThere = tenants.includes(as);
    if (isThere && !replace) {
      throw new CommandFailure(`there is a tenant ${as}: give --as OTHER for a second one, or --replace`);
    }
    return await withFile(wanted, async (path, restored) => {
      const query = {...(isThere ? {replace: 'true' as const} : {}), ...(live ? {live: 'true' as const} : {})};
      const {signal} = new AbortController();
      await client.upload('tenants.import', [as], query, () => createReadStream(path), {
        type: TYPE,
        once: true,
        signal,
      });
      return restored;
    });
  } finally {
    await client.close();
  }
}
