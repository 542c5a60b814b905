import {createHash, randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {connect as connectPlain, createServer, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {type ConnectionOptions, connect, type TLSSocket} from 'node:tls';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {
  PEER_HELLO_BYTES_MAX,
  PEER_HELLO_MS,
  PEER_HELLOS_MAX,
  PEER_IDLE_SIGNS,
  PEER_SIGN_MS,
  PEER_SILENT_SIGNS,
} from '../../router/limits.ts';
import {encoded, MessageReader, PEER_VERSION, type PeerHello} from '../../router/peers/messages.ts';
import {FrameFlag, FrameKind, IPC_VERSION} from '../../shared/ipc/frame.ts';
import {Authority, type Pair} from '../cluster/harness/certificates.ts';
import {TcpLink} from '../cluster/harness/tcp-link.ts';
import {until} from '../harness/until.ts';
import {TENANT, TestHost, twoHosts} from './peer-rig.ts';
import {RecordedRequest} from './scripted-worker.ts';

const CHANNEL: PeerHello = {type: 'channel', version: PEER_VERSION, router: 'r'};
const LINK: PeerHello = {
  ...{type: 'link', version: PEER_VERSION, router: 'r', ipc: IPC_VERSION},
  ...{tenant: TENANT, forCode: false},
};

/** A program that connects to the peer port. */
class Stranger {
  readonly socket: TLSSocket;
  readonly closed: Promise<unknown>;
  readonly #reader = new MessageReader(1024 * 1024);
  readonly received: unknown[] = [];

  constructor(host: TestHost, pair: Pair | null, more: ConnectionOptions = {}) {
    const own = pair === null ? {} : {cert: pair.certificate, key: pair.key};
    this.socket = connect({
      port: host.port,
      host: '127.0.0.1',
      servername: host.name,
      ca: host.settings.ca,
      ...own,
      ...more,
    });
    onTestFinished(() => void this.socket.destroy());
    this.closed = new Promise(resolve => this.socket.on('close', resolve));
    this.socket.on('error', () => undefined);
    this.socket.on('data', chunk => {
      this.#reader.push(chunk);
      for (let next = this.#reader.next(); next !== null; next = this.#reader.next()) {
        if ((next as {type: string}).type === 'sign') this.socket.write(encoded({type: 'sign'}));
        else this.received.push(next);
      }
    });
  }

  async says(bytes: PeerHello | Buffer | string): Promise<this> {
    if (!this.socket.authorized)
      await Promise.race([new Promise(resolve => this.socket.once('secureConnect', resolve)), this.closed]);
    this.socket.write(typeof bytes === 'string' || Buffer.isBuffer(bytes) ? bytes : encoded(bytes));
    return this;
  }

  answer(): Promise<unknown> {
    return until('an answer', () => this.received[0]);
  }
}

describe('without a certificate of the cluster', () => {
  const other = new Authority('other');
  test.each<[string, (authority: Authority) => Pair | null]>([
    ['none', () => null],
    ['one of another authority', () => other.issue('a', ['a'])],
    ['one of another authority of the same name', () => new Authority('cluster').issue('a', ['a'])],
    ['one that has expired', authority => authority.issue('a', ['a'], '210101')],
  ])('%s: nothing is received, and no tenant wakes', async (_, pairOf) => {
    const {b, authority} = await twoHosts();
    await b.serves();
    const stranger = await new Stranger(b, pairOf(authority)).says(CHANNEL);
    await stranger.closed;
    expect(stranger.received).toEqual([]);
    expect(b.wakes).toEqual([]);
    expect(b.metric('svc_peer_incoming_routers')).toBe(0);
    await until('it to be counted', () => b.metric('svc_peer_refused_total') === 1);
  });

  test('TLS 1.2 and no TLS at all are refused', async () => {
    const {b, authority} = await twoHosts();
    const pair = authority.issue('a', ['a']);
    await (await new Stranger(b, pair, {maxVersion: 'TLSv1.2', minVersion: 'TLSv1.2'}).says(CHANNEL)).closed;
    const plain = connectPlain(b.port, '127.0.0.1');
    plain.on('error', () => undefined);
    plain.write('GET / HTTP/1.1\r\n\r\n');
    plain.resume();
    await once(plain, 'close');
    expect(b.metric('svc_peer_incoming_routers')).toBe(0);
  });

  test.each<[string, (authority: Authority) => Pair]>([
    ['has another name', authority => authority.issue('c', ['c'])],
    ['has its name as the subject only', authority => authority.issue('b', ['c'])],
    ['is of another authority', () => other.issue('b', ['b'])],
    ['has expired', authority => authority.issue('b', ['b'], '210101')],
  ])('a host whose certificate %s is sent no request', async (_, pairOf) => {
    const authority = new Authority('cluster');
    const a = new TestHost('a', authority);
    const b = await new TestHost('b', authority, pairOf(authority)).listen();
    const worker = await b.serves();
    a.refersTo(b);
    a.directory.forward(a.tenant, new RecordedRequest(true));
    await until('it to have been tried', () => a.metric('svc_peer_dials_total', 'lost') > 0);
    expect(worker.frames).toEqual([]);
    expect(b.metric('svc_peer_incoming_routers')).toBe(0);
    a.directory.receive({type: 'tenant_removed', tenant: TENANT, returns: false});
  });
});

describe('a peer that violates the protocol', () => {
  const length = (bytes: number) => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(bytes);
    return head;
  };
  test.each<[string, PeerHello | Buffer | string]>([
    ['a hello that is too long', length(PEER_HELLO_BYTES_MAX)],
    ['a hello of 4 GiB', length(0xffff_ffff)],
    ['a hello that is not JSON', Buffer.concat([length(3), Buffer.from('{{{')])],
    ['a hello that is a number', Buffer.concat([length(1), Buffer.from('5')])],
    ['a hello that is null', Buffer.concat([length(4), Buffer.from('null')])],
    ['a hello of another kind', {...CHANNEL, type: 'else'} as never],
    ['a link without a tenant', {...LINK, tenant: undefined} as never],
    ['bytes behind the hello', Buffer.concat([encoded(CHANNEL), Buffer.from('more')])],
    ['HTTP', 'GET / HTTP/1.1\r\nHost: b\r\n\r\n'],
  ])('%s: the connection ends', async (_, bytes) => {
    const {b, authority} = await twoHosts();
    const stranger = await new Stranger(b, authority.issue('a', ['a'])).says(bytes);
    await stranger.closed;
    expect(stranger.received).toEqual([]);
    expect(b.metric('svc_peer_incoming_routers')).toBe(0);
  });

  test.each<[string, unknown]>([
    ['of another version', {...CHANNEL, version: PEER_VERSION + 1}],
    ['whose frames are of another version', {...LINK, ipc: IPC_VERSION + 1}],
    ['for a link without a channel', LINK],
  ])('a hello %s is refused with a reason', async (_, hello) => {
    const {b, authority} = await twoHosts();
    const stranger = await new Stranger(b, authority.issue('a', ['a'])).says(hello as PeerHello);
    expect(await stranger.answer()).toMatchObject({type: 'refused', error: {code: 'session.worker_unavailable'}});
    await stranger.closed;
  });

  test('a channel with a message that is none ends, and its links with it', async () => {
    const {b, authority} = await twoHosts();
    await b.serves();
    const pair = authority.issue('a', ['a']);
    const channel = await new Stranger(b, pair).says(CHANNEL);
    expect(await channel.answer()).toEqual({type: 'open'});
    const link = await new Stranger(b, pair).says(LINK);
    expect(await link.answer()).toMatchObject({type: 'linked', runsCode: true});
    await channel.says(encoded({type: 'nonsense'} as never));
    await Promise.all([channel.closed, link.closed]);
    await until('the tenant to be free', () => !b.tenant.isBusy);
  });

  test('a link that sends frames before its worker is there ends', async () => {
    const {b, authority} = await twoHosts();
    const pair = authority.issue('a', ['a']);
    await (await new Stranger(b, pair).says(CHANNEL)).answer();
    const link = await new Stranger(b, pair).says(LINK);
    await until('it to wait', () => b.tenant.isBusy);
    await link.says('frames');
    await link.closed;
    expect(b.tenant.isBusy).toBe(false);
  });

  test('a link that breaks ends alone; the worker and the others go on', async () => {
    const {a, b, authority} = await twoHosts();
    const worker = await b.serves();
    const read = new RecordedRequest(true);
    a.directory.forward(a.tenant, read);
    await worker.received(3);
    const pair = authority.issue('a', ['a']);
    await (await new Stranger(b, pair).says(CHANNEL)).answer();
    const link = await new Stranger(b, pair).says(LINK);
    await link.answer();
    link.socket.destroy();
    await until('it to be gone', () => b.metric('svc_peer_incoming_links') === 1);
    worker.sendTo(1, FrameKind.response, 1, FrameFlag.none, '', 'ok');
    expect(await read.outcome).toBe('200 ok');
  });
});

/** Both ends send theirs, and receive that of the other one. */
async function signs(): Promise<void> {
  vi.advanceTimersByTime(PEER_SIGN_MS);
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

describe('a peer that does nothing', () => {
  test('is closed after a while, before its handshake and before its hello; further ones at once', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    onTestFinished(() => void vi.useRealTimers());
    const {b, authority} = await twoHosts();
    const silent = [connectPlain(b.port, '127.0.0.1')];
    const secured = new Stranger(b, authority.issue('a', ['a']));
    await once(secured.socket, 'secureConnect');
    await once(secured.socket, 'session'); // the port has its certificate
    vi.advanceTimersByTime(PEER_HELLO_MS);
    await secured.closed;
    while (silent.length < PEER_HELLOS_MAX + 5) silent.push(connectPlain(b.port, '127.0.0.1'));
    let closed = 0;
    for (const socket of silent)
      socket
        .on('error', () => undefined)
        .on('close', () => closed++)
        .resume();
    await until('those beyond the limit to be closed', () => closed >= 5);
    for (const socket of silent) socket.destroy();
  });

  test('a host that is silent is cut off: writes have an unknown outcome, and its port lets go of the tenant', async () => {
    vi.useFakeTimers({toFake: ['setInterval', 'clearInterval']});
    onTestFinished(() => void vi.useRealTimers());
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    const net = await TcpLink.to(b.port);
    onTestFinished(() => net.close());
    a.refersTo(b, {address: `127.0.0.1:${net.port}`});
    const write = new RecordedRequest(false, 'body');
    a.directory.forward(a.tenant, write);
    await worker.received(3);
    a.onWake = () => undefined;
    net.stall();
    for (let sign = 0; sign <= PEER_SILENT_SIGNS; sign++) vi.advanceTimersByTime(PEER_SIGN_MS);
    expect(await write.outcome).toBe('session.outcome_unknown');
    await until('the tenant to be free', () => !b.tenant.isBusy);
  });

  test('a host of which nothing is used is not connected any more, also if a link to it was given up', async () => {
    vi.useFakeTimers({toFake: ['setInterval', 'clearInterval']});
    onTestFinished(() => void vi.useRealTimers());
    const {a, b} = await twoHosts();
    const read = new RecordedRequest(true);
    a.directory.forward(a.tenant, read);
    await until('the link to wait for a worker', () => b.tenant.isBusy);
    read.abort();
    a.giveUp();
    await until('the link to be gone', () => !b.tenant.isBusy);
    for (let sign = 0; sign < PEER_IDLE_SIGNS; sign++) await signs();
    await until('the channel to be gone', () => b.metric('svc_peer_incoming_routers') === 0);
  });

  test('a host that answers signs is not', async () => {
    vi.useFakeTimers({toFake: ['setInterval', 'clearInterval']});
    onTestFinished(() => void vi.useRealTimers());
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    const read = new RecordedRequest(true);
    a.directory.forward(a.tenant, read);
    await worker.received(3);
    for (let sign = 0; sign < 3 * PEER_SILENT_SIGNS; sign++) await signs();
    worker.answer('', 'ok');
    expect(await read.outcome).toBe('200 ok');
  });
});

describe('100 MB through a link whose reader waits', () => {
  const CHUNK = randomBytes(1024 * 1024);
  const CHUNKS = 100;
  /** Far more than the buffers of two sockets and of the port, and far less than all. */
  const BUFFERED_MAX = 24 * CHUNK.length;

  /** Both ends of a link: a worker's socket, and what a router of another host has. */
  async function ends(): Promise<{b: TestHost; worker: Socket; peer: TLSSocket}> {
    const {b, authority} = await twoHosts();
    const directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
    const socketPath = join(directory, 'w');
    const sockets: Socket[] = [];
    const server = createServer(socket => sockets.push(socket));
    await new Promise<void>(resolve => server.listen(socketPath, resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(directory, {recursive: true});
    });
    const owner = process.geteuid!();
    b.onWake = () => b.ready({tenant: TENANT, worker: '1', socketPath, secret: 's', owner, runsCode: true});
    const pair = authority.issue('a', ['a']);
    await (await new Stranger(b, pair).says(CHANNEL)).answer();
    const link = await new Stranger(b, pair).says(LINK);
    await link.answer();
    const [, worker] = await until('both connections', () => (sockets.length === 2 ? sockets : null));
    await once(worker!, 'readable'); // the hello
    worker!.read();
    link.socket.removeAllListeners('data');
    return {b, worker: worker!, peer: link.socket};
  }

  async function send(to: Socket): Promise<void> {
    for (let sent = 0; sent < CHUNKS; sent++) if (!to.write(CHUNK)) await once(to, 'drain');
  }

  async function received(from: Socket): Promise<string> {
    const digest = createHash('sha256');
    let bytes = 0;
    for await (const chunk of from) {
      digest.update(chunk);
      bytes += chunk.length;
      if (bytes === CHUNKS * CHUNK.length) break;
    }
    return digest.digest('hex');
  }

  test.each<['in' | 'out']>([['in'], ['out']])(
    '%s: the port stops to read, then all of it arrives',
    async direction => {
      const {b, worker, peer} = await ends();
      const [from, to] = direction === 'in' ? [peer, worker] : [worker, peer];
      to.pause();
      const sending = send(from);
      let passed = -1;
      let same = 0;
      await until('nothing more to pass', () => {
        const now = b.metric('svc_peer_bytes_total', direction);
        same = now === passed && now > 0 ? same + 1 : 0;
        passed = now;
        return same === 5;
      });
      expect(passed).toBeLessThan(BUFFERED_MAX);
      const expected = createHash('sha256');
      for (let chunk = 0; chunk < CHUNKS; chunk++) expected.update(CHUNK);
      expect(await received(to)).toBe(expected.digest('hex'));
      await sending;
    },
  );
});

describe('a link that is cut', () => {
  test('is dialled again, and a read goes on', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    const net = await TcpLink.to(b.port);
    onTestFinished(() => net.close());
    a.refersTo(b, {address: `127.0.0.1:${net.port}`});
    const read = new RecordedRequest(true);
    a.directory.forward(a.tenant, read);
    await worker.received(3);
    net.cut();
    await until('the link to be gone', () => a.tenant.link === null);
    net.heal();
    await worker.received(5);
    worker.answer('', 'ok');
    expect(await read.outcome).toBe('200 ok');
    expect(a.metric('svc_peer_dials_total', 'linked')).toBe(2);
  });
});
