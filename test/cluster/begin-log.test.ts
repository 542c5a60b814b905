/** A log that begins with a file: that of a server alone, or the newest one of a cluster that lost its log. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {type Begun, beginLog} from '../../cluster/owner/begin-log.ts';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {writeWholeFile} from '../../engine/replication/whole-file.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {hostOf, newTenant, opened} from './harness/rig.ts';

const tenant = newTenant();

function baseOf(path: string): Buffer {
  const sink = new MemorySink();
  writeWholeFile(path, sink, 1);
  return sink.bytes;
}

/** A file as a base, before and after one more write. */
async function bases(): Promise<[Buffer, Buffer]> {
  const rig = memoryRig();
  const made: Buffer[] = [];
  await rig.run(async () => {
    const host = new ReplicatedHost(rig, await hostOf(rig), tenant);
    for (const numbers of [[1, 2], [3]]) {
      await host.serve((await host.bring(made.length + 1))!, () => 0);
      for (const n of numbers) {
        expect(await new Promise(resolve => host.owner!.write(n, 900_000, resolve))).toBe('acknowledged');
      }
      await host.close();
      made.push(baseOf(host.path));
    }
    await host.end();
  });
  return [made[0]!, made[1]!];
}

test('it begins again, with a newer file as well, wherever the process before has ended', async () => {
  const [older, newer] = await bases();
  let ended = 0;
  for (let sent = 1; ; sent++) {
    const rig = memoryRig();
    let first: Begun | null = null;
    await rig.run(async () => {
      const connection = await hostOf(rig);
      const begin = (base: Buffer, signal?: AbortSignal) =>
        beginLog(connection.replicated, tenant, {base: sourceOf(base), note: 'adopt', aboveEpoch: 0, signal});
      const kill = new AbortController();
      let left = sent;
      connection.choose(request => {
        if (request !== 'read' && left-- === 0) kill.abort();
        return kill.signal.aborted ? 'lost' : 'none';
      });
      first = await begin(older, kill.signal).catch((error: unknown) => {
        if (error instanceof EngineError) return null;
        throw error;
      });
      connection.choose(() => 'none');
      expect((await begin(newer)).kind).toBe('begun');
      const host = new ReplicatedHost(rig, connection, tenant);
      await host.bring(9);
      expect(documentsOf(host.path)).toEqual([1, 2, 3]);
      await host.end();
      // From now on it is the log of a tenant that was opened.
      expect((await begin(older)).kind).toBe('there');
    });
    if ((first as Begun | null)?.kind === 'begun') break;
    ended++;
  }
  expect(ended).toBeGreaterThan(6);
});

test('a log of records, or one that another note begins, stays as it is', async () => {
  const [base] = await bases();
  const rig = memoryRig();
  await rig.run(async () => {
    const {replicated} = await hostOf(rig);
    await opened(replicated.tenant(tenant), 1);
    const tail = await replicated.tenant(tenant).tail();
    const begin = {base: sourceOf(base), note: 'adopt', aboveEpoch: 0};
    expect(await beginLog(replicated, tenant, begin)).toEqual({kind: 'there'});
    expect(await replicated.tenant(tenant).tail()).toEqual(tail);
  });
});

test('a file whose log of commits is damaged makes no base', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-begin-log-'));
  try {
    const rig = memoryRig();
    await rig.run(async () => {
      const host = new ReplicatedHost(rig, await hostOf(rig), tenant, join(directory, 'tenant.sqlite'));
      await host.serve((await host.bring(1))!, () => 0);
      expect(await new Promise(resolve => host.owner!.write(1, 100, resolve))).toBe('acknowledged');
      host.kill();
      const whole = baseOf(host.path);
      rmSync(`${host.path}-wal`);
      expect(() => baseOf(host.path)).toThrow();
      expect(whole.length).toBeGreaterThan(0);
      await host.end();
    });
  } finally {
    rmSync(directory, {recursive: true});
  }
});
