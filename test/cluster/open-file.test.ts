/** What becomes of one commit of an owner that ends, is fenced or meets a full log, on real files. */
import {rmSync, statSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {expect, test, vi} from 'vitest';
import {delay} from '../../cluster/log/timing.ts';
import {pagesOfGroup} from '../../engine/commit/checkpoints.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {CHECKPOINT_WAL_PAGES} from '../../engine/limits.ts';
import {asideDirectories} from '../../engine/replication/set-aside.ts';
import {LOGGED_FILE} from '../../shared/tenant-directory.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {documentsOf, type Known, ReplicatedHost} from './harness/replicated-host.ts';
import {type Host, hostOf, newTenant, type Rig, summary} from './harness/rig.ts';

const SYNC_MS = 20;
/** Of the event loop, which a write takes until its commit. */
const TURNS = 5;
const APPEND_MS = 100;

type Parts = {
  rig: Rig;
  tenant: ReturnType<typeof newTenant>;
  connections: [Host, Host];
  hosts: [ReplicatedHost, ReplicatedHost];
};

function scenario(work: (parts: Parts) => Promise<void>): () => Promise<void> {
  return async () => {
    const rig = memoryRig();
    await rig.run(async () => {
      const tenant = newTenant();
      const connections: [Host, Host] = [await hostOf(rig), await hostOf(rig)];
      const hosts: [ReplicatedHost, ReplicatedHost] = [
        new ReplicatedHost(rig, connections[0], tenant),
        new ReplicatedHost(rig, connections[1], tenant),
      ];
      try {
        await work({rig, tenant, connections, hosts});
      } finally {
        for (const host of hosts) await host.end();
      }
    });
  };
}

async function serve(host: ReplicatedHost, epoch: number): Promise<string[]> {
  const lost: string[] = [];
  const opened = await host.bring(epoch);
  expect(opened).not.toBeNull();
  expect(await host.serve(opened!, () => 0.5)).toBe(true);
  host.owner!.onLost = reason => {
    lost.push(reason);
    host.kill();
  };
  return lost;
}

/** What its client knows once it knows something. */
function written(host: ReplicatedHost, n: number): Promise<Known> {
  return new Promise(resolve => host.owner!.write(n, 10, resolve));
}

async function committed(): Promise<void> {
  for (let turns = 0; turns < TURNS; turns++) await nextTurn();
}

/** The owner has committed, and its append does not arrive before it ends. */
async function killBeforeAppend({rig, connections, hosts}: Parts, n: number): Promise<void> {
  connections[0].choose(request => (request === 'publish' ? 'lost' : 'none'));
  void written(hosts[0], n);
  await committed();
  await delay(rig.timing, SYNC_MS);
  hosts[0].kill();
  await delay(rig.timing, APPEND_MS);
  connections[0].choose(() => 'none');
}

test(
  'what only the file has is appended with its own epoch if it continues the log',
  scenario(async parts => {
    const [host] = parts.hosts;
    await serve(host, 1);
    expect(await written(host, 1)).toBe('acknowledged');
    await killBeforeAppend(parts, 2);
    await host.bring(2);
    expect(await summary(parts.connections[0].log(parts.tenant))).toEqual([
      '1.1 open',
      '1.2 commit',
      '1.3 commit',
      '1.4 commit',
      '2.5 open',
    ]);
    expect(documentsOf(host.path)).toEqual([1, 2]);
  }),
);

test(
  'the commits that a copy lacks are applied to it as one',
  scenario(async ({hosts: [first, second]}) => {
    await serve(first, 1);
    for (const n of [1, 2, 3, 4]) expect(await written(first, n)).toBe('acknowledged');
    await first.close();
    const applied = vi.spyOn(CopyFile.prototype, 'apply');
    try {
      await serve(second, 2);
      expect(applied).toHaveBeenCalledTimes(1);
    } finally {
      applied.mockRestore();
    }
    expect(documentsOf(second.path)).toEqual([1, 2, 3, 4]);
    expect(await written(second, 5)).toBe('acknowledged');
  }),
);

test(
  'it is cut once another epoch has begun, and the file gets what the log has',
  scenario(async parts => {
    const [first, second] = parts.hosts;
    await serve(first, 1);
    expect(await written(first, 1)).toBe('acknowledged');
    await killBeforeAppend(parts, 2);
    await serve(second, 2);
    expect(await written(second, 3)).toBe('acknowledged');
    await second.close();
    await serve(first, 3);
    expect(documentsOf(first.path)).toEqual([1, 3]);
    expect(await written(first, 4)).toBe('acknowledged');
    await first.close();
    await second.bring(4);
    expect(documentsOf(second.path)).toEqual([1, 3, 4]);
  }),
);

test(
  'an owner that goes on after a takeover acknowledges nothing and ends',
  scenario(async ({hosts: [first, second]}) => {
    const lost = await serve(first, 1);
    expect(await written(first, 1)).toBe('acknowledged');
    await serve(second, 2);
    const {owner} = first;
    let known: Known | 'nothing' = 'nothing';
    owner!.write(2, 10, outcome => {
      known = outcome;
    });
    expect(await written(second, 3)).toBe('acknowledged');
    await first.bring(3);
    expect([lost, known, documentsOf(first.path)]).toEqual([['the log has refused commit 3'], 'nothing', [1, 3]]);
  }),
);

test(
  'a commit that is undecided for long is acknowledged to no client, and is in the log when servers answer',
  scenario(async ({connections: [connection], hosts: [host]}) => {
    await serve(host, 1);
    connection.choose(() => 'lost');
    expect(await written(host, 1)).toBe('unknown');
    expect(await written(host, 2)).toBe('refused');
    connection.choose(() => 'none');
    await host.close();
    expect(documentsOf(host.path)).toEqual([1]);
  }),
);

test(
  'a full log refuses a write before its COMMIT; where that was not known, the owner ends and the commit is kept',
  scenario(async ({rig, tenant, hosts: [host]}) => {
    const lost = await serve(host, 1);
    host.freeBytes = 0;
    expect(await written(host, 1)).toBe('refused');
    host.freeBytes = Number.POSITIVE_INFINITY;
    await rig.setSpace(tenant, 1);
    void written(host, 2);
    await committed();
    await delay(rig.timing, APPEND_MS);
    expect([lost, host.owner === null]).toEqual([['the log has full commit 2'], true]);
    await rig.setSpace(tenant, Number.POSITIVE_INFINITY);
    await host.bring(2);
    expect(documentsOf(host.path)).toEqual([2]);
  }),
);

test(
  'a file that lost its WAL, or whose place is damaged, is refused',
  scenario(async ({hosts: [host, other]}) => {
    await serve(host, 1);
    await written(host, 1);
    host.kill();
    const place = `${host.path}.place`;
    const note = join(dirname(host.path), LOGGED_FILE);
    writeFileSync(note, '');
    rmSync(`${host.path}-wal`);
    await expect(host.bring(2)).rejects.toThrow(CopyError);
    rmSync(note);
    writeFileSync(place, 'x');
    await expect(host.bring(2)).rejects.toThrow('does not match its SHA-256');
    // Without its file, or without a place for it, it is made from the log.
    rmSync(place);
    await host.bring(2);
    expect([asideDirectories(dirname(host.path)).length, documentsOf(host.path)]).toEqual([1, [1]]);
    await other.bring(3);
    expect(documentsOf(other.path)).toEqual([1]);
  }),
);

test(
  'an owner that is killed behind a checkpoint, before its next commit, has a file that goes on',
  scenario(async parts => {
    const {hosts} = parts;
    const [owner] = hosts;
    const texts = 2 * Math.ceil(CHECKPOINT_WAL_PAGES / pagesOfGroup(1, 200_000));
    const put = (n: number) => new Promise<Known>(resolve => owner.owner!.write(n, 200_000, resolve));
    await serve(owner, 1);
    for (let n = 0; n < 3; n++) expect(await put(n)).toBe('acknowledged');
    expect(await owner.close()).toBe(true);
    owner.placePages = Number.POSITIVE_INFINITY;
    await serve(owner, 2);
    const {size} = statSync(owner.path);
    const isMoved = () => statSync(owner.path).size > size;
    let n = 3;
    for (; n < texts && !isMoved(); await committed()) expect(await put(n++)).toBe('acknowledged');
    expect(isMoved()).toBe(true);
    owner.kill();
    expect(await owner.bring(3)).not.toBeNull();
    expect(documentsOf(owner.path)).toEqual([...Array(n).keys()]);
    expect(asideDirectories(dirname(owner.path))).toEqual([]);
  }),
);
