/** The door of a worker, as code meets it that has taken the worker over: it speaks the protocol, and as it likes. */
import {randomInt} from 'node:crypto';
import {once} from 'node:events';
import {mkdirSync, rmSync} from 'node:fs';
import {type AddressInfo, connect, createServer, type Server, Socket} from 'node:net';
import {dirname, join} from 'node:path';
import {createInterface} from 'node:readline';
import fc from 'fast-check';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {
  EGRESS_CONNECTIONS_PER_TENANT_MAX,
  EGRESS_LINE_BYTES_MAX,
  EGRESS_LINKS_PER_TENANT_MAX,
  EGRESS_LOOKUPS_PER_TENANT_MAX,
} from '../../../egress/limits.ts';
import {LookupQueue} from '../../../egress/lookup-queue.ts';
import {ProxyEndpoint} from '../../../egress/proxy-endpoint.ts';
import type {EgressAnswer, EgressEndpoint} from '../../../shared/ipc/egress.ts';
import {EgressMetrics} from '../../../shared/metrics/egress-metrics.ts';
import {EgressClient} from '../../../worker/runtime/egress/egress-client.ts';
import {TestEgress} from '../../harness/egress.ts';
import {until} from '../../harness/until.ts';

let network: TestEgress;
let outside: Server;
let port: number;
/** Connections that arrived outside. */
let arrived: Socket[];
/** What a name leads to; set by the test that looks one up. */
let resolve: (name: string) => Promise<string[]>;
let ways: EgressClient[];

beforeEach(async () => {
  arrived = [];
  ways = [];
  resolve = () => Promise.resolve(['127.0.0.1']);
  network = new TestEgress(name => resolve(name));
  outside = createServer({allowHalfOpen: true}, socket => {
    arrived.push(socket);
    socket.on('error', () => undefined);
  });
  outside.listen(0, '127.0.0.1');
  await once(outside, 'listening');
  port = (outside.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const way of ways) way.close();
  await network.close();
  for (const socket of arrived) socket.destroy();
  outside.close();
});

const OPEN = {allow: ['127.0.0.1'], deny: []};

function client(endpoint: EgressEndpoint): EgressClient {
  const way = new EgressClient(endpoint);
  ways.push(way);
  return way;
}

/** A link that says what the test says. */
async function link(endpoint: EgressEndpoint, first = JSON.stringify({secret: endpoint.secret})) {
  await network.use(endpoint);
  const socket = connect({path: endpoint.socketPath});
  socket.on('error', () => undefined);
  const answers: EgressAnswer[] = [];
  createInterface({input: socket})
    .on('line', line => answers.push(JSON.parse(line) as EgressAnswer))
    .on('error', () => undefined);
  const closed = new Promise(done => socket.once('close', done));
  socket.write(`${first}\n`);
  return {socket, answers, closed, say: (question: object) => socket.write(`${JSON.stringify(question)}\n`)};
}

/** What code that has taken over a worker may write: bytes, values, and questions with any members. */
const MESSAGE = fc.oneof(
  fc.uint8Array({maxLength: 300}).map(bytes => Buffer.from(bytes)),
  fc.json().map(text => Buffer.from(`${text}\n`)),
  fc
    .record(
      {
        type: fc.oneof(fc.constantFrom('connect', 'lookup', 'drop', 'open', 'hello'), fc.jsonValue()),
        id: fc.oneof(fc.nat(9), fc.double(), fc.jsonValue()),
        host: fc.oneof(fc.constantFrom('127.0.0.1', '', '.', '\0', '[::1', 'a.example'), fc.string(), fc.jsonValue()),
        port: fc.oneof(fc.nat(70_000), fc.jsonValue()),
        family: fc.oneof(fc.constantFrom(0, 4, 6), fc.jsonValue()),
      },
      {requiredKeys: ['type']},
    )
    .map(question => Buffer.from(`${JSON.stringify(question)}\n`)),
);

const toOutside = (id: number) => ({type: 'connect', id, host: '127.0.0.1', port, family: 0});

/** A connection to the outside. */
async function carried(way: EgressClient): Promise<Socket> {
  const opened = await way.open('127.0.0.1', port);
  const socket = connect({path: opened.path, allowHalfOpen: true});
  way.carries(opened, socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function textOf(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(socket, 'end');
  return text;
}

describe('whose it is', () => {
  test.each([
    ['a secret that is none', () => JSON.stringify({secret: 'x'})],
    ["another worker's secret", (other: EgressEndpoint) => JSON.stringify({secret: other.secret})],
    ['a question', () => JSON.stringify(toOutside(1))],
    ['no JSON', () => 'GET / HTTP/1.1'],
  ])('a client that says first %s is not answered', async (_, first) => {
    const other = network.endpoint(OPEN);
    const {closed, answers, say} = await link(network.endpoint(OPEN), first(other));
    say(toOutside(1));
    await closed;
    expect(answers).toEqual([]);
    expect(arrived).toEqual([]);
  });

  test('each is answered under its own policy', async () => {
    const [opened, closed] = [await link(network.endpoint(OPEN)), await link(network.endpoint({allow: [], deny: []}))];
    for (const {say} of [opened, closed]) say(toOutside(1));
    await until('both to be answered', () => opened.answers.length + closed.answers.length === 2);
    expect(opened.answers[0]).toMatchObject({type: 'open'});
    expect(closed.answers[0]).toMatchObject({type: 'failed', error: {refused: true}});
  });

  test('a door that was taken away answers nobody', async () => {
    const endpoint = network.endpoint(OPEN);
    const {closed} = await link(endpoint);
    const socket = await carried(client(endpoint));
    const broken = new Promise(done => socket.once('close', done));
    await network.revoke(endpoint);
    await Promise.all([closed, broken]);
    const again = connect({path: endpoint.socketPath});
    expect(await once(again, 'error').then(([{code}]) => code as string)).toMatch(/ENOENT|ECONNREFUSED/);
  });
});

test('a door that cannot be opened keeps nobody from another, and is there when it can be', async () => {
  const [closed, other] = [network.endpoint(OPEN, 'missing'), network.endpoint(OPEN)];
  await network.use(closed);
  expect(await client(other).lookup('a.example')).toEqual(['127.0.0.1']);
  const answered = client(closed).lookup('a.example');
  mkdirSync(dirname(closed.socketPath), {recursive: true});
  expect(await answered).toEqual(['127.0.0.1']);
});

test('what is in the way of a door is removed', async () => {
  mkdirSync(join(network.directory, 'x1', 's', 'more'), {recursive: true});
  expect(await client(network.endpoint(OPEN)).lookup('a.example')).toEqual(['127.0.0.1']);
});

test('a connection waits in the directory of its door, and what keeps a client from it names no path', async () => {
  const endpoint = network.endpoint(OPEN);
  const way = client(endpoint);
  const opened = await way.open('127.0.0.1', port);
  expect(dirname(opened.path)).toBe(dirname(endpoint.socketPath));
  rmSync(opened.path);
  const socket = new Socket();
  way.carries(opened, socket);
  socket.connect({path: opened.path});
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  expect([error.code, error.message]).toEqual(['ECONNABORTED', 'The connection was given up; try again']);
  expect(JSON.stringify({...error, stack: error.stack})).not.toContain(network.directory);
});

describe('what it is asked', () => {
  test.each([
    ['a question that is none', '{"type":"bind","id":1,"port":80}'],
    ['a port that is none', '{"type":"connect","id":1,"host":"127.0.0.1","port":65536,"family":0}'],
    ['a path as a port', '{"type":"connect","id":1,"host":"127.0.0.1","port":"/run/x.sock","family":0}'],
    ['what is too long for a question', `{"type":"lookup","id":1,"host":"${'x'.repeat(EGRESS_LINE_BYTES_MAX)}`],
  ])('%s ends the link', async (_, text) => {
    const {socket, closed, answers} = await link(network.endpoint(OPEN));
    socket.write(`${text}\n`);
    await closed;
    expect(answers).toEqual([]);
  });

  test('a name that leads elsewhere the second time is connected to where it led when it was checked', async () => {
    const asked: string[] = [];
    resolve = name => {
      asked.push(name);
      return Promise.resolve(asked.length === 1 ? ['127.0.0.1'] : ['10.0.0.1']);
    };
    const {address} = await client(network.endpoint(OPEN)).open('rebind.example', port);
    expect([address, asked]).toEqual(['127.0.0.1', ['rebind.example']]);
  });

  test('connections beyond the limit fail, and room is again when one has ended', async () => {
    const {say, answers} = await link(network.endpoint(OPEN));
    for (let id = 1; id <= EGRESS_CONNECTIONS_PER_TENANT_MAX + 5; id++) say(toOutside(id));
    await until('the last to be answered', () => answers.filter(({type}) => type === 'failed').length === 5);
    for (const answer of answers.filter(({type}) => type === 'failed'))
      expect(answer).toMatchObject({error: {code: 'EMFILE', message: expect.stringContaining('Too many connections')}});
    say({type: 'drop', id: 1});
    say(toOutside(9_999));
    await until('it to be open', () => answers.some(({id, type}) => id === 9_999 && type === 'open'));
  });

  test('tenants that take all connections they can leave the same to the next one', async () => {
    const metrics = new EgressMetrics();
    const endpoints = await Promise.all(
      Array.from({length: 10}, (_, n) =>
        ProxyEndpoint.open(
          {...network.endpoint(OPEN), socketPath: join(network.directory, `own${n}`), tenant: `t${n}`},
          {metrics, lookups: new LookupQueue({atOnce: 1, atOncePerTenant: 1, waitingPerTenant: 1}), resolve},
        ),
      ),
    );
    const taken = endpoints.map(endpoint => {
      let connections = 0;
      while (endpoint.opened() === null) connections++;
      return connections;
    });
    expect(taken.slice(0, 7).every(connections => connections === EGRESS_CONNECTIONS_PER_TENANT_MAX)).toBe(true);
    expect(taken.slice(7)).toEqual([512, 256, 128]);
    expect(endpoints[9]!.opened()).toBe('The server has too many outgoing connections; try again');
    for (const endpoint of endpoints) endpoint.close();
  });

  test('whatever bytes and messages come, they end at most their own link', async () => {
    const [hostile, other] = [network.endpoint(OPEN), network.endpoint(OPEN)];
    resolve = () => Promise.reject(Object.assign(new Error('no such name'), {code: 'ENOTFOUND'}));
    const seed = randomInt(2 ** 32);
    const messages = fc.sample(MESSAGE, {numRuns: 1_000, seed});
    let linked = await link(hostile);
    for (const message of messages) {
      if (linked.socket.destroyed || linked.socket.readableEnded) linked = await link(hostile);
      linked.socket.write(message);
    }
    linked.socket.end();
    const {say, answers} = await link(other);
    say(toOutside(1));
    await until(`the other one to be answered (seed ${seed})`, () => answers.length === 1);
    expect(answers[0]).toMatchObject({type: 'open'});
  });

  test('links beyond the limit are closed, others stay', async () => {
    const endpoint = network.endpoint(OPEN);
    const first = await link(endpoint);
    const more = await Promise.all(Array.from({length: EGRESS_LINKS_PER_TENANT_MAX}, () => link(endpoint)));
    await Promise.race(more.map(({closed}) => closed));
    first.say(toOutside(1));
    await until('the first to be answered', () => first.answers.length === 1);
    for (const {socket} of [first, ...more]) socket.destroy();
  });

  test('so many names are looked up at once; others wait, and another tenant does not', async () => {
    let waiting = 0;
    let release: () => void = () => undefined;
    const released = new Promise<void>(done => {
      release = done;
    });
    resolve = async name => {
      if (name !== 'quick.example') {
        waiting++;
        await released;
      }
      return ['127.0.0.1'];
    };
    const slow = client(network.endpoint(OPEN));
    const answers = Array.from({length: 3 * EGRESS_LOOKUPS_PER_TENANT_MAX}, (_, n) => slow.lookup(`slow${n}.example`));
    await until('lookups to wait', () => waiting === EGRESS_LOOKUPS_PER_TENANT_MAX);
    expect(await client(network.endpoint(OPEN)).lookup('quick.example')).toEqual(['127.0.0.1']);
    expect(waiting).toBe(EGRESS_LOOKUPS_PER_TENANT_MAX);
    release();
    expect(new Set((await Promise.all(answers)).flat())).toEqual(new Set(['127.0.0.1']));
  });
});

describe('what a connection says', () => {
  test('a server that speaks first is heard, both directions end one by one', async () => {
    const socket = await carried(client(network.endpoint(OPEN)));
    await until('it to arrive', () => arrived.length === 1);
    const far = arrived[0]!;
    far.write('first ');
    socket.end('question');
    expect(await textOf(far)).toBe('question');
    far.end('and last');
    expect(await textOf(socket)).toBe('first and last');
  });

  test('one that is reset is an error, not an end', async () => {
    const socket = await carried(client(network.endpoint(OPEN)));
    await until('it to arrive', () => arrived.length === 1);
    arrived[0]!.write('half');
    await once(socket, 'data');
    arrived[0]!.resetAndDestroy();
    const [error] = (await Promise.race([
      once(socket, 'error'),
      once(socket, 'end').then(() => ['it ended']),
    ])) as unknown[];
    expect(error).toMatchObject({code: 'ECONNRESET'});
  });

  test('one that its client destroys is seen to end outside', async () => {
    const socket = await carried(client(network.endpoint(OPEN)));
    await until('it to arrive', () => arrived.length === 1);
    arrived[0]!.resume();
    const ended = once(arrived[0]!, 'end');
    socket.destroy();
    await ended;
  });

  test('a policy that closes it breaks it off', async () => {
    const endpoint = network.endpoint(OPEN);
    const socket = await carried(client(endpoint));
    const [failure] = [once(socket, 'error')];
    await network.use({...endpoint, policy: {allow: [], deny: []}});
    expect((await failure)[0]).toMatchObject({message: 'The connection was ended: the egress policy changed'});
  });

  test('who does not read holds up the sender, and nothing is kept for it', async () => {
    const socket = await carried(client(network.endpoint(OPEN)));
    await until('it to arrive', () => arrived.length === 1);
    const far = arrived[0]!;
    const chunk = Buffer.alloc(64 * 1024);
    let written = 0;
    while (far.write(chunk)) written += chunk.length;
    const sent = far.bytesWritten;
    expect(written).toBeLessThan(16 * 1024 * 1024);
    let received = 0;
    socket.on('data', (bytes: Buffer) => {
      received += bytes.length;
    });
    await until('it to go on', () => received >= sent);
  });
});
