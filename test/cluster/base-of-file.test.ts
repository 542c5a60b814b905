/** A log that has been trimmed: files begin with a base of it, and no commit that only one file has is deleted. */
import {existsSync, readdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';
import {LogError} from '../../cluster/log/log-error.ts';
import {LogFollower} from '../../cluster/owner/log-follower.ts';
import {decodePlace} from '../../cluster/owner/place.ts';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {type Parts, scenario, untilEnd} from './harness/file-scenario.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {SUBJECTS} from './harness/rig.ts';

/** One owner from its open to its `close`, and the base of its file. */
async function writes({tenant, connection}: Parts, host: ReplicatedHost, epoch: number, numbers: number[]) {
  const opened = await host.bring(epoch);
  expect(await host.serve(opened!, () => 0)).toBe(true);
  for (const n of numbers) {
    expect(await new Promise(resolve => host.owner!.write(n, n % 7 === 0 ? 900_000 : 100, resolve))).toBe(
      'acknowledged',
    );
  }
  expect(await host.close()).toBe(true);
  return async () => {
    const file = new ReplicatedFile(host.path, 0);
    const sink = new MemorySink();
    const follower = new LogFollower(connection.log(tenant), file, host.bases);
    await follower.follow();
    file.writeBase(sink);
    const {position, openedBy} = decodePlace(file.place!);
    file.close();
    const stored = await connection.replicated.bases.put(tenant, {position, openedBy, file: sourceOf(sink.bytes)});
    expect(stored.kind).toBe('stored');
    return position;
  };
}

test(
  'an absent file begins with the newest base, and reads the log behind it',
  scenario(async parts => {
    const {owner, other, connection, tenant} = parts;
    await writes(parts, owner, 1, [1, 2, 7]);
    const storeBase = await writes(parts, owner, 2, [3]);
    await connection.log(tenant).trim(await storeBase());
    await writes(parts, owner, 3, [4, 14]);
    await other.bring(4);
    await owner.bring(5);
    expect(documentsOf(other.path)).toEqual([1, 2, 3, 4, 7, 14]);
    expect(snapshotOf(other.path)).toEqual(snapshotOf(owner.path));
    expect(readdirSync(dirname(other.path)).filter(name => name.endsWith('.fetched'))).toEqual([]);
  }),
);

test(
  "a worker's file whose place was trimmed away is set aside, because it can have commits of its own",
  scenario(async parts => {
    const {owner, other, connection, tenant} = parts;
    await writes(parts, other, 1, [1]);
    await writes(parts, owner, 2, [2]);
    const storeBase = await writes(parts, owner, 3, [3]);
    await connection.log(tenant).trim(await storeBase());
    await other.bring(4);
    expect(documentsOf(other.path)).toEqual([1, 2, 3]);
    expect(documentsOf(join(dirname(other.path), 'replaced-1', 'tenant.sqlite'))).toEqual([1]);
    expect(other.reports).toEqual([expect.stringContaining('replaced-1')]);
  }),
);

test(
  'a damaged base is passed over for the one before it; without a sound one the log cannot be read',
  scenario(async parts => {
    const {owner, other, connection, tenant} = parts;
    const first = await (await writes(parts, owner, 1, [1]))();
    await connection.log(tenant).trim(first);
    await (await writes(parts, owner, 2, [2]))();
    const damage = async (which: number) => {
      const {id} = (await connection.replicated.bases.list(tenant)).at(which)!;
      const subject = SUBJECTS.base(tenant, id);
      const {bytes, sequence} = (await connection.engine.last(subject))!;
      await connection.engine.removeBefore(subject, sequence + 1);
      await connection.engine.publish(subject, Buffer.alloc(bytes.length), null);
    };
    await damage(1);
    await other.bring(3);
    expect(documentsOf(other.path)).toEqual([1, 2]);
    expect(other.reports).toEqual([expect.stringMatching(/^a base of .* cannot be used: .* SHA-256/)]);
    await damage(0);
    const last = untilEnd(new ReplicatedHost(parts.rig, connection, tenant));
    await expect(last.bring(4)).rejects.toThrow(LogError);
  }),
);

test(
  'a file with other commits than the log is set aside, and nothing of it is deleted',
  scenario(async parts => {
    const {owner, other, connection, tenant} = parts;
    await writes(parts, owner, 1, [1]);
    await writes(parts, other, 2, [2]);
    // The log loses its newest records, and another host, which does not have them, goes on.
    parts.rig.loseAfter(SUBJECTS.log(tenant).stream, (await connection.log(tenant).tail())!.sequence - 3);
    const third = untilEnd(new ReplicatedHost(parts.rig, connection, tenant));
    await writes(parts, third, 3, [3, 4, 5, 6]);
    await other.bring(4);
    expect(documentsOf(other.path)).toEqual([1, 3, 4, 5, 6]);
    expect(documentsOf(join(dirname(other.path), 'diverged-2', 'tenant.sqlite'))).toEqual([1, 2]);
    expect(existsSync(join(dirname(other.path), 'diverged-2', 'tenant.sqlite.place'))).toBe(true);
    expect(other.reports).toEqual([expect.stringContaining('diverged-2')]);
  }),
);
