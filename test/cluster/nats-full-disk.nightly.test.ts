/** A NATS server whose disk is full. It says so in its log only, and takes no more part until it is started again. */
import {expect, test} from 'vitest';
import type {LogPosition} from '../../cluster/log/record.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {SmallDisk} from '../harness/small-disk.ts';
import {until} from '../harness/until.ts';
import {committed} from './harness/conformance.ts';
import {LOG, natsRig} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {allOf, CLUSTER, commit, newTenant, opened} from './harness/rig.ts';

const RECORDS = 50;
const DISK_MEBIBYTES = 64;

const probe = new SmallDisk(1);
const canMount = probe.isMounted;
probe.remove();

test.runIf(canMount)(
  'the others go on without a server whose disk is full, and with it once it has space and was started again',
  async () => {
    const disks = Array.from({length: 3}, () => new SmallDisk(DISK_MEBIBYTES));
    let servers: NatsServers | undefined;
    try {
      servers = await NatsServers.start({stores: disks.map(({path}) => path)});
      await natsRig(servers);
      const {engine} = await servers.host();
      const log = new ReplicatedLog(engine, CLUSTER).tenant(newTenant());
      const expected: LogPosition[] = [await opened(log, 1)];
      const more = async () => {
        for (let i = 0; i < RECORDS; i++) {
          expected.push(await committed(log.append(expected.at(-1)!, commit(1, `${expected.length}`, 20_000))));
        }
      };
      await more();
      const full = await servers.leaderOf(LOG);
      const disk = disks[servers.servers.indexOf(full)]!;
      disk.fill();
      await more();
      await until('its sentence', () => full.output.includes('JetStream out of resources, will be DISABLED'));

      disk.makeSpace();
      await full.kill();
      await full.start();
      await more();
      // Without one of the others, it is needed.
      await servers.servers.find(server => server !== full)!.kill();
      await more();
      expect((await allOf(log)).map(({position}) => position)).toEqual(expected);
    } finally {
      await servers?.stop();
      for (const disk of disks) disk.remove();
    }
  },
  120_000,
);
