/** The check at the start of a host, on three servers with TLS, which verify hosts, and with one nkey user per host. */
import {once} from 'node:events';
import {chmodSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {nkeys} from '@nats-io/transport-node';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {type CredentialFiles, readCredentials} from '../../cluster/nats/credentials.ts';
import {permissionsOf} from '../../cluster/nats/permissions.ts';
import {type StartOptions, startOnNats} from '../../cluster/nats/start-check.ts';
import {streamSettings} from '../../cluster/nats/stream-settings.ts';
import {Authority} from './harness/certificates.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {CLUSTER, SUBJECTS} from './harness/rig.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-nats-files-'));
const authority = new Authority('the CA of the cluster');
const [hostA, hostB, operator, stranger] = ['a', 'b', 'operator', 'stranger'].map(() => nkeys.createUser());
const LACKS = '$JS.API.STREAM.PURGE.*';

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  chmodSync(path, 0o600);
  return path;
}

function files(user = hostA!): Required<CredentialFiles> {
  const {certificate, key} = authority.issue('a host', []);
  return {
    ca: file('ca.pem', authority.certificate),
    certificate: file('host.pem', certificate),
    key: file('host.key', key),
    seed: file('host.seed', Buffer.from(user.getSeed()).toString()),
  };
}

function sections(): string {
  const {certificate, key} = authority.issue('a server', ['127.0.0.1']);
  const {publish, subscribe} = permissionsOf(SUBJECTS);
  const lacking = {publish: publish.filter(subject => subject !== LACKS), subscribe};
  const users = [
    {nkey: hostA!.getPublicKey(), permissions: {publish, subscribe}},
    {nkey: hostB!.getPublicKey(), permissions: lacking},
    {nkey: operator!.getPublicKey()},
  ];
  const [cert, keyPath] = [file('server.pem', certificate), file('server.key', key)];
  return `tls { cert_file: "${cert}", key_file: "${keyPath}", ca_file: "${files().ca}", verify: true }
          authorization { users: ${JSON.stringify(users)} }`;
}

let servers: NatsServers;
beforeAll(async () => {
  servers = await NatsServers.start({sections: sections(), credentials: readCredentials(files(operator))});
});
afterAll(async () => {
  await servers?.stop();
  rmSync(directory, {recursive: true});
});

function start(given: CredentialFiles, options: Partial<StartOptions> = {}) {
  const credentials = readCredentials(given);
  return startOnNats({cluster: CLUSTER, name: 'host a', servers: servers.addresses, credentials, ...options});
}

test.each<[string, () => CredentialFiles, string]>([
  ['the key of no user', () => files(stranger), `does not accept this host's nkey user ${stranger!.getPublicKey()}`],
  ['no seed', () => ({...files(), seed: undefined}) as never, 'requires credentials; give this host a seed file.'],
  [
    'another CA',
    () => ({...files(), ca: file('other.pem', new Authority('the CA of the cluster').certificate)}),
    'has a certificate that the given CA has not issued.',
  ],
  [
    'no CA',
    () => ({seed: files().seed}),
    'has a certificate of a CA that this machine does not know; give its CA to svc.',
  ],
  ['no certificate', () => ({ca: files().ca, seed: files().seed}), 'requires a certificate of this host.'],
  [
    'a certificate of another CA',
    () => {
      const {certificate, key} = new Authority('another').issue('a host', []);
      return {...files(), certificate: file('b.pem', certificate), key: file('b.key', key)};
    },
    'does not accept the certificate of this host',
  ],
  [
    'a permission that is missing',
    () => files(hostB),
    'the NATS user of this host is not allowed to publish to $JS.API.STREAM.PURGE.svc_test_',
  ],
])('%s is refused in one sentence, and the seed is not in it', async (_, given, sentence) => {
  const error = await start(given()).then(
    () => null,
    (refusal: Error) => refusal,
  );
  expect(error).toMatchObject({name: 'NatsRefusal', message: expect.stringContaining(sentence)});
  expect(error!.message).toMatch(/^[^\n]+\.$/);
  expect(`${error!.stack}`).not.toMatch(/SU[A-Z0-9]{20}/);
});

test('the name, the addresses and the monitoring pages are checked', async () => {
  const [first, second, third] = servers.addresses;
  const refused = (options: Partial<StartOptions>, sentence: string) =>
    expect(start(files(), options)).rejects.toThrow(sentence);
  await refused({cluster: 'Prod'}, 'the name of a cluster has 1 to 32 lower-case letters');
  await refused({servers: [first!, second!]}, 'a cluster needs 3 NATS servers and has 2');
  await refused({servers: [first!, second!, second!]}, 'two of the addresses are those of one NATS server, n2.');
  const swapped = {...third!, monitor: second!.monitor};
  await refused({servers: [first!, second!, swapped]}, 'is not that of the NATS server');
  await refused({servers: [first!, second!, {...third!, monitor: 'http://127.0.0.1:1'}]}, 'cannot be read: ');
});

test('a server that is stopped while it is checked is one that cannot be reached', async () => {
  const [first, second, third] = servers.addresses;
  const server = servers.servers[2]!;
  const page = createServer(() => server.freeze());
  await once(page.listen(0, '127.0.0.1'), 'listening');
  try {
    const monitor = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const {engine, warnings} = await start(files(), {servers: [first!, second!, {...third!, monitor}]});
    await engine.close();
    expect(warnings).toEqual([expect.stringContaining(`${third!.server} (it does not answer)`)]);
  } finally {
    server.thaw();
    page.closeAllConnections();
    page.close();
    await servers.elected();
  }
});

test('a server whose page is late is read again', async () => {
  const [first, second, third] = servers.addresses;
  let reads = 0;
  const page = createServer(async ({url}, response) => {
    if (++reads > 1) response.end(await (await fetch(third!.monitor + url)).text());
  });
  await once(page.listen(0, '127.0.0.1'), 'listening');
  try {
    const monitor = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const {engine, warnings} = await start(files(), {servers: [first!, second!, {...third!, monitor}]});
    await engine.close();
    expect(warnings).toEqual([]);
    expect(reads).toBeGreaterThan(1);
  } finally {
    page.closeAllConnections();
    page.close();
  }
});

test('a host starts with what it is allowed, and starts again; a stream that someone changed is refused', async () => {
  const {engine, warnings} = await start(files());
  expect(warnings).toEqual([]);
  const subject = SUBJECTS.record('member.a');
  expect(await engine.publish(subject, Buffer.from('x'), 0)).toMatchObject({kind: 'stored'});
  const end = new AbortController();
  for await (const message of engine.watch({kind: 'records'}, [SUBJECTS.prefix({kind: 'records'})], {
    from: 1,
    signal: end.signal,
  })) {
    if (message === null) end.abort();
  }
  await engine.removeBefore(subject, 2);
  await engine.close();

  const settings = streamSettings(SUBJECTS, {kind: 'bases'}, 3);
  await servers.configure('STREAM.UPDATE', {...settings, allow_rollup_hdrs: true});
  await expect(start(files())).rejects.toThrow(
    'the stream svc_test_bases has allow_rollup_hdrs true, which svc does not set',
  );
  await servers.configure('STREAM.UPDATE', {...settings, max_age: 3_600_000_000_000});
  await expect(start(files())).rejects.toThrow('the stream svc_test_bases has max_age 3600000000000 and needs 0: ');
  await servers.configure('STREAM.UPDATE', settings);
});

test('a stream that is gone is refused, and not made again in its place', async () => {
  await (await start(files())).engine.close();
  const log = streamSettings(SUBJECTS, {kind: 'log', shard: 3}, 3);
  await servers.configure('STREAM.DELETE', log);
  await expect(start(files())).rejects.toThrow('the stream svc_test_log_3 is gone, and so are the records in it');
  await expect(start(files())).rejects.toThrow('the stream svc_test_log_3 is gone');
  await servers.configure('STREAM.CREATE', log);

  // Without the stream of the small records, it is not known that there was a cluster; but logs have records.
  const {engine} = await start(files());
  const tenant = SUBJECTS.log({id: 'acme', generation: 1});
  expect(await engine.publish(tenant, Buffer.from('x'), 0)).toMatchObject({kind: 'stored'});
  await engine.close();
  await servers.configure('STREAM.DELETE', streamSettings(SUBJECTS, {kind: 'records'}, 3));
  await expect(start(files())).rejects.toThrow('the stream svc_test_records is gone');
  await expect(start(files())).rejects.toThrow('the stream svc_test_records is gone');
  await servers.configure('STREAM.DELETE', streamSettings(SUBJECTS, tenant.stream, 3));
});

/** The streams that the first one led elect leaders meanwhile. */
test('one server that is down is a warning, and two are a refusal', async () => {
  const [first, second] = servers.servers;
  const [address] = servers.addresses;
  await first!.kill();
  const {engine, warnings} = await start(files());
  await engine.close();
  expect(warnings).toEqual([
    expect.stringContaining(`cannot be reached, and has not been checked: ${address!.server} (`),
  ]);
  await second!.kill();
  await expect(start(files())).rejects.toThrow(
    '2 of 3 NATS servers cannot be reached, and svc needs a majority of them: ',
  );
}, 180_000);
