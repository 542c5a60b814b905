/** A log that lost records which were acknowledged: the files of the hosts have them, and give them back. */
import {closeSync, openSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {afterEach, expect, test} from 'vitest';
import {type MemberFile, type Restored, restoreLostTail} from '../../cluster/owner/lost-tail.ts';
import {decodePlace} from '../../cluster/owner/place.ts';
import {newestFile, rebuildTenant} from '../../cluster/owner/rebuild.ts';
import {findTenant} from '../../cluster/ownership/claim.ts';
import {runOrder} from '../../cluster/standby/file-work.ts';
import {sourceOfFile} from '../../engine/copies/bytes.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';
import {type MemoryRig, memoryRig} from './harness/memory-rig.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {type Host, hostOf, newTenant, SUBJECTS, summary} from './harness/rig.ts';
import {StandbyHost} from './harness/standby-host.ts';

const ended: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

class Course {
  readonly rig: MemoryRig;
  readonly connection: Host;
  readonly tenant = newTenant();
  readonly root = makeMemoryDirectory('svc-lost-tail-');
  readonly reports: string[] = [];

  constructor(rig: MemoryRig, connection: Host) {
    [this.rig, this.connection] = [rig, connection];
    ended.push(() => rmSync(this.root, {recursive: true}));
  }

  host(): ReplicatedHost {
    const host = new ReplicatedHost(this.rig, this.connection, this.tenant);
    ended.push(() => host.end());
    return host;
  }

  standby(): StandbyHost {
    const host = new StandbyHost(this.rig, this.connection, this.tenant);
    ended.push(() => host.end());
    return host;
  }

  async serves(host: ReplicatedHost, epoch: number, numbers: readonly number[]): Promise<void> {
    await host.serve((await host.bring(epoch))!, () => 0);
    for (const n of numbers) {
      expect(await new Promise(resolve => host.owner!.write(n, 100, resolve))).toBe('acknowledged');
    }
  }

  /** The servers forget the newest records. */
  async loses(records: number): Promise<void> {
    const {stream} = SUBJECTS.log(this.tenant);
    this.rig.loseAfter(stream, (await this.connection.log(this.tenant).tail())!.sequence - records);
  }

  fileOf(path: string): MemberFile {
    const answer = runOrder({kind: 'find', path, owner: null, end: this.#end}, 0);
    if (answer.kind !== 'done' || answer.state.place === null) throw new Error(JSON.stringify(answer));
    return {host: path, ...decodePlace(answer.state.place), commit: answer.state.commit};
  }

  readonly #end = new Int32Array(new SharedArrayBuffer(4));

  fetch({host: path}: MemberFile, to: string): void {
    const answer = runOrder({kind: 'write_newest', path, to, owner: null, end: this.#end}, 0);
    expect(answer.kind).toBe('done');
  }

  restore(paths: readonly string[]): Promise<Restored> {
    const {connection, tenant, reports} = this;
    return restoreLostTail({
      log: connection.log(tenant),
      bases: {bases: connection.replicated.bases, tenant, report: sentence => reports.push(sentence)},
      files: {
        of: async () => paths.map(path => this.fileOf(path)),
        fetch: async (file, to) => this.fetch(file, to),
      },
      scratch: join(this.root, 'scratch'),
    });
  }

  async documents(epoch: number): Promise<number[]> {
    const host = this.host();
    await host.bring(epoch);
    return documentsOf(host.path);
  }
}

function scenario(work: (course: Course) => Promise<void>): () => Promise<void> {
  return async () => {
    const rig = memoryRig();
    await rig.run(async () => work(new Course(rig, await hostOf(rig))));
  };
}

test(
  'what the copy of a standby has, and the log has not, is one commit of the epoch that the log has',
  scenario(async course => {
    const [owner, standby] = [course.host(), course.standby()];
    await course.serves(owner, 1, [1, 2, 3]);
    await standby.follow();
    await owner.close();
    await course.loses(3);
    expect(await course.restore([standby.path])).toBe('appended');
    expect(course.reports).toEqual([expect.stringMatching(/had lost its newest records.* appended again/)]);
    expect(await course.documents(2)).toEqual([1, 2, 3]);
    expect(await course.restore([standby.path])).toBe('nothing_lost');
  }),
);

test(
  'a lost `open` is appended again as well, so the file of its owner counts',
  scenario(async course => {
    const [first, second] = [course.host(), course.host()];
    await course.serves(first, 1, [1]);
    await first.close();
    await course.serves(second, 2, [2, 3]);
    second.kill();
    await course.loses(4);
    expect((await summary(course.connection.log(course.tenant))).at(-1)).toBe('1.3 commit');
    expect(await course.restore([second.path])).toBe('appended');
    expect(await summary(course.connection.log(course.tenant))).toEqual([
      '1.1 open',
      '1.2 commit',
      '1.3 commit',
      '2.4 open',
      '2.5 commit',
    ]);
    expect(await course.documents(3)).toEqual([1, 2, 3]);
  }),
);

test(
  "a worker's file whose place is old is ahead, if another file is at the tail",
  scenario(async course => {
    const [owner, standby] = [course.host(), course.standby()];
    await course.serves(owner, 1, [1, 2]);
    await standby.follow();
    const {n} = (await course.connection.log(course.tenant).tail())!;
    for (const more of [3, 4, 5]) await new Promise(resolve => owner.owner!.write(more, 100, resolve));
    owner.kill();
    expect(course.fileOf(owner.path).position.n).toBeLessThanOrEqual(n);
    await course.loses(3);
    expect(await course.restore([owner.path, standby.path])).toBe('appended');
    expect(await course.documents(2)).toEqual([1, 2, 3, 4, 5]);
  }),
);

test(
  'a file of an older epoch gives nothing: its owner was fenced',
  scenario(async course => {
    const [first, second] = [course.host(), course.host()];
    await course.serves(first, 1, [1, 2, 3]);
    first.kill();
    const before = first.path;
    await course.serves(second, 2, [4]);
    await second.close();
    expect(await course.restore([before])).toBe('nothing_lost');
  }),
);

test(
  'a read that missed the newest records appends nothing',
  scenario(async course => {
    const [owner, standby] = [course.host(), course.standby()];
    await course.serves(owner, 1, [1, 2]);
    await standby.follow();
    const log = course.connection.log(course.tenant);
    const before = await summary(log);
    const {stream} = SUBJECTS.log(course.tenant);
    // The reading of a server that is behind: it ends before the newest record.
    const {sequence} = (await log.tail())!;
    course.rig.hideAfter(stream, sequence - 1);
    course.connection.choose(request => {
      if (request === 'publish') course.rig.hideAfter(stream, Number.POSITIVE_INFINITY);
      return 'none';
    });
    expect(await course.restore([standby.path])).toBe('refused');
    expect(await summary(log)).toEqual(before);
    await owner.close();
  }),
);

test('when NATS has lost everything, the newest file of each tenant begins its log again', async () => {
  const files: MemberFile[] = [];
  const old = memoryRig();
  let course: Course;
  await old.run(async () => {
    course = new Course(old, await hostOf(old));
    const [first, owner, standby] = [course.host(), course.host(), course.standby()];
    await course.serves(first, 1, [1]);
    await first.close();
    files.push(course.fileOf(first.path));
    await course.serves(owner, 2, [2, 3]);
    await standby.follow();
    await owner.close();
    files.push(course.fileOf(standby.path));
  });
  const rig = memoryRig();
  await rig.run(async () => {
    const {tenant, root} = course;
    const connection = await hostOf(rig);
    const newest = newestFile(files)!;
    expect(newest).toBe(files[1]);
    const path = join(root, 'newest');
    course.fetch(newest, path);
    const rebuild = async (signal?: AbortSignal) => {
      const fd = openSync(path, 'r');
      try {
        const options = {
          newest,
          base: sourceOfFile(fd),
          note: 'rebuild',
          createdMs: 1,
          ...(signal === undefined ? {} : {signal}),
        };
        return await rebuildTenant(connection.replicated, tenant, options);
      } finally {
        closeSync(fd);
      }
    };
    // It ends between two records, and is begun again.
    const kill = new AbortController();
    let sent = 0;
    connection.choose(request => {
      if (request === 'publish' && ++sent === 3) kill.abort();
      return kill.signal.aborted ? 'lost' : 'none';
    });
    expect((await rebuild(kill.signal)).kind).toBe('abandoned');
    connection.choose(() => 'none');
    expect(await findTenant(connection.replicated.records, tenant.id)).toBeNull();
    expect((await rebuild()).kind).toBe('rebuilt');
    expect((await rebuild()).kind).toBe('there');
    const {epoch} = (await findTenant(connection.replicated.records, tenant.id))!.record;
    const host = new ReplicatedHost(rig, connection, tenant);
    await host.bring(epoch + 1);
    expect(documentsOf(host.path)).toEqual([1, 2, 3]);
    await host.end();
  });
});
