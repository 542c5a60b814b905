/** The suite on three real NATS servers. Their elections and syncs take seconds, so one set of servers is used by all. */
import {afterAll, beforeAll, test} from 'vitest';
import {rounds} from '../harness/nightly.ts';
import {rivals, SCENARIOS} from './harness/conformance.ts';
import {natsRig} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import type {Rig} from './harness/rig.ts';

let servers: NatsServers;
let rig: Rig;

beforeAll(async () => {
  servers = await NatsServers.start();
  rig = await natsRig(servers);
});

afterAll(() => servers?.stop());

test.each(Object.entries(SCENARIOS))('%s', (_, scenario) => scenario(rig));

const ROUNDS = rounds({commit: 50, nightly: 10_000});
test(`of six rivals with one expectation, one wins, in each of ${ROUNDS} rounds`, () => rivals(ROUNDS)(rig), 1_800_000);
