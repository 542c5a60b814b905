/** The way out of a thread, against an egress process that answers as the test says. */
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {connect, createServer, type Server, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {afterEach, beforeEach, expect, test} from 'vitest';
import type {EgressAnswer, EgressQuestion} from '../../../shared/ipc/egress.ts';
import {EgressClient} from '../../../worker/runtime/egress/egress-client.ts';

let directory: string;
let server: Server;
let links: Socket[];
/** Of what was connected to from here. */
let made: Socket[];
let answer: (question: EgressQuestion, link: Socket) => EgressAnswer | null;
let way: EgressClient;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  [links, made] = [[], []];
  server = createServer(link => {
    links.push(link);
    link.on('error', () => undefined);
    createInterface({input: link}).on('line', line => {
      const said = JSON.parse(line) as EgressQuestion | {secret: string};
      const answered = 'secret' in said ? null : answer(said, link);
      if (answered !== null) link.write(`${JSON.stringify(answered)}\n`);
    });
  });
  const path = join(directory, 'x');
  server.listen(path);
  await once(server, 'listening');
  const connectTo = (to: string) => {
    const socket = connect({path: to});
    made.push(socket);
    return socket;
  };
  const endpoint = {socketPath: path, secret: 'x', policy: {allow: [], deny: []}};
  way = new EgressClient(endpoint, {connectTo, now: () => performance.now()});
});
afterEach(() => {
  way.close();
  for (const link of [...links, ...made]) link.destroy();
  server.close();
  rmSync(directory, {recursive: true});
});

test('a connection that breaks off before it is reported as open fails its caller', async () => {
  const error = {refused: false, message: 'read ECONNRESET', code: 'ECONNRESET', syscall: 'read'};
  answer = ({id}) => ({type: 'broken', id, error});
  await expect(way.open('a.example', 80)).rejects.toMatchObject({code: 'ECONNRESET'});
});

test('a reset of a connection by an egress process that dies is the death of that, and not a reset from outside', async () => {
  const path = join(directory, 'data');
  let far: Socket | null = null;
  const data = createServer({pauseOnConnect: true}, socket => {
    far = socket;
    socket.write('half');
  });
  data.listen(path);
  await once(data, 'listening');
  answer = ({id, type}) =>
    type === 'lookup'
      ? {type: 'addresses', id, addresses: []}
      : {type: 'open', id, path, address: '192.0.2.1', port: 80};
  const opened = await way.open('a.example', 80);
  const socket = connect({path});
  made.push(socket);
  way.carries(opened, socket);
  socket.write('never read');
  expect(String((await once(socket, 'data'))[0])).toBe('half');
  const failed = once(socket, 'error');
  // What was sent is not read by then: this end of it sees a reset.
  far!.destroy();
  await once(far!, 'close');
  await way.lookup('a.example');
  links[0]!.destroy();
  expect(await failed).toMatchObject([{code: 'ECONNABORTED'}]);
  data.close();
});

test('closed while it links, it leaves no link', async () => {
  answer = () => null;
  const asked = way.open('a.example', 80);
  way.close();
  await expect(asked).rejects.toThrow('The egress process of the server ended');
  expect(made.map(({destroyed}) => destroyed)).toEqual([true]);
});
