import {once} from 'node:events';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {countFault, serversFault, type Varz, varzOf} from '../../cluster/nats/server-settings.ts';
import {streamFault, streamSettings} from '../../cluster/nats/stream-settings.ts';
import {SUBJECTS} from './harness/rig.ts';

const SERVER: Varz = {
  server_id: 'ID1',
  server_name: 'n1',
  version: '2.10.27',
  max_payload: 1_048_576,
  jetstream: {config: {sync_always: true, store_dir: '/data'}},
};
const [SECOND, THIRD] = [2, 3].map(i => ({...SERVER, server_id: `ID${i}`, server_name: `n${i}`}));
const THREE = [SERVER, SECOND!, THIRD!];
const LOG = streamSettings(SUBJECTS, {kind: 'log', shard: 7}, 3);
const RECORDS = streamSettings(SUBJECTS, {kind: 'records'}, 3);

test('servers and streams as svc needs them are accepted, and later versions too', () => {
  expect(serversFault(THREE)).toBeNull();
  expect(serversFault([{...SERVER, version: '2.15.0-dev'}, SECOND!, THIRD!])).toBeNull();
  expect(countFault(3, false) ?? countFault(1, true)).toBeNull();
  expect(streamFault(LOG, LOG)).toBeNull();
  expect(streamFault({...LOG, num_replicas: 5}, LOG)).toBeNull();
});

test.each<[string, Partial<Varz>, string]>([
  ['an older version', {version: '2.10.22'}, 'has version 2.10.22, which can lose acknowledged records'],
  ['an unknown version', {version: 'x'}, 'has version x'],
  ['no JetStream', {jetstream: {}}, 'has no JetStream'],
  ['a sync now and then', {jetstream: {config: {store_dir: '/data'}}}, 'set sync_interval to always'],
  ['small messages', {max_payload: 65_536}, 'takes messages of up to 65536 bytes'],
])('a server with %s is refused in one sentence', (_, change, reason) => {
  const fault = serversFault([SERVER, {...SECOND, ...change}, THIRD!]);
  expect(fault).toContain('the NATS server n2 ');
  expect(fault).toContain(reason);
  expect(fault).toMatch(/^[^.]*(?:\d\.\d[^.]*)*\.$/);
});

test.each<[string, object, Varz['jetstream']]>([
  ['are those of /jsz, if /varz lacks them', {config: SERVER.jetstream!.config}, SERVER.jetstream],
  ['are none, if JetStream is off', {disabled: true, config: SERVER.jetstream!.config}, {}],
])('the settings of JetStream %s', async (_, jsz, jetstream) => {
  // As a server answers whose page was read before it had started JetStream.
  const pages: Record<string, object> = {'/varz': {...SERVER, jetstream: {}}, '/jsz': jsz};
  const server = createServer((request, response) => response.end(JSON.stringify(pages[request.url!])));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const {port} = server.address() as AddressInfo;
  expect(await varzOf(`http://127.0.0.1:${port}`)).toEqual({...SERVER, jetstream});
});

test('fewer than three servers are refused, and three addresses of two servers', () => {
  expect(countFault(2, false)).toBe(
    'a cluster needs 3 NATS servers and has 2; for development, --allow-single-log permits one.',
  );
  expect(serversFault([SERVER, SECOND!, SECOND!])).toBe('two of the addresses are those of one NATS server, n2.');
});

test.each([
  ['storage', 'memory'],
  ['retention', 'workqueue'],
  ['num_replicas', 1],
  ['discard', 'old'],
  ['max_age', 3_600_000_000_000],
  ['max_bytes', 1_000_000_000],
  ['max_msgs', 1_000_000],
  ['max_msgs_per_subject', 100],
  ['deny_delete', false],
  ['deny_purge', true],
  ['allow_direct', true],
  ['subjects', ['svc.>']],
])('a stream with another %s is refused in one sentence', (setting, value) => {
  const fault = streamFault({...LOG, [setting]: value} as never, LOG);
  expect(fault).toContain(`the stream svc_test_log_7 has ${setting} ${JSON.stringify(value)} and needs `);
  expect(streamFault({...RECORDS, max_msgs_per_subject: -1}, RECORDS)).toContain('only its newest value');
});

test.each([
  ['mirror', {name: 'other'}],
  ['sources', [{name: 'other'}]],
  ['no_ack', true],
  ['allow_rollup_hdrs', true],
  ['max_msg_size', 1024],
  ['discard_new_per_subject', true],
  ['persist_mode', 'async'],
])('a stream whose %s someone has set is refused', (setting, value) => {
  expect(streamFault({...LOG, [setting]: value} as never, LOG)).toBe(
    `the stream svc_test_log_7 has ${setting} ${JSON.stringify(value)}, which svc does not set: it was made or changed by someone else.`,
  );
});

test('an operator can place a stream and compress it', () => {
  const set = {description: 'x', placement: {cluster: 'a'}, compression: 's2', metadata: {a: 'b'}};
  const unset = {max_msg_size: -1, max_consumers: -1, no_ack: false, sealed: false, consumer_limits: {}, first_seq: 0};
  expect(streamFault({...LOG, ...set, ...unset} as never, LOG)).toBeNull();
});
