import {describe, expect, test} from 'vitest';
import {FrameFlag, FrameKind} from '../../shared/ipc/frame.ts';
import {until} from '../harness/until.ts';
import {TENANT, type TestHost, twoHosts} from './peer-rig.ts';
import {RecordedRequest, type ScriptedWorker} from './scripted-worker.ts';

/** One request of a client of `host`, which another host serves. The worker has a hello of each router before it. */
async function isRead(host: TestHost, worker: ScriptedWorker): Promise<void> {
  const read = new RecordedRequest(true);
  host.directory.forward(host.tenant, read);
  await worker.received(3);
  worker.answer('', 'ok');
  expect(await read.outcome).toBe('200 ok');
}

describe('a tenant that another host serves', () => {
  test('answers requests through a router of that host, which wakes it for a peer', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    await isRead(a, worker);
    expect(worker.frames.map(({kind}) => kind)).toEqual([FrameKind.hello, FrameKind.hello, FrameKind.request]);
    expect(b.wakes).toEqual([{type: 'wake', tenant: TENANT, forCode: false, forPeer: true}]);
    expect(a.metric('svc_peer_links')).toBe(1);
    expect(b.metric('svc_peer_incoming_links')).toBe(1);
  });

  test('stays awake there while the other router has a link, and not longer', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    await isRead(a, worker);
    expect(b.tenant.release()).toBe(true);
    expect(a.tenant.release()).toBe(false);
    await until('the link to have ended', () => !b.tenant.isBusy);
    expect(b.tenant.release()).toBe(false);
  });

  test('is requested again when that host does not serve it', async () => {
    const {a, b} = await twoHosts();
    b.refersTo(b, {host: 'c', address: '127.0.0.1:1'});
    const read = new RecordedRequest(true);
    a.directory.forward(a.tenant, read);
    await until('the host to have said so', () => a.metric('svc_peer_dials_total', 'moved') > 0);
    const worker = await b.serves();
    await worker.received(3);
    worker.answer('', 'ok');
    expect(await read.outcome).toBe('200 ok');
  });

  test('gives the error of that host when it has no worker to give', async () => {
    const {a, b} = await twoHosts();
    b.onWake = () =>
      b.directory.receive({
        ...{type: 'worker_failed', tenant: TENANT, retryAfterS: 7},
        error: {code: 'session.storage_full', message: 'full'},
      });
    const write = new RecordedRequest(false);
    a.directory.forward(a.tenant, write);
    expect(await write.outcome).toBe('session.storage_full/7');
  });

  test('moves to a worker that runs code when a request of the other host brings some', async () => {
    const {a, b} = await twoHosts();
    const plain = await b.serves(false);
    const read = new RecordedRequest(true);
    a.directory.forward(a.tenant, read);
    await plain.received(3);
    const deploy = new RecordedRequest(false, 'bundle', null, {bringsCode: true});
    b.onWake = ({forCode}) => {
      b.onWake = () => undefined;
      if (forCode) b.giveUp();
    };
    a.directory.forward(a.tenant, deploy);
    await until('it to be asked for', () => b.wakes.some(({forCode, forPeer}) => forCode && forPeer));
    const next = await b.serves();
    expect(b.sent).not.toContainEqual({type: 'given_up', tenant: TENANT});
    plain.answer('', 'before');
    expect(await read.outcome).toBe('200 before');
    await until('all to have left the worker', () => b.sent.some(({type}) => type === 'given_up'));
    b.ready(next.address);
    await next.received(3);
    expect(next.frames.at(-1)!.body).toBe('bundle');
    next.answer('', 'deployed');
    expect(await deploy.outcome).toBe('200 deployed');
  });
});

describe('calls under way when the worker of another host ends', () => {
  const call = {name: 'm:bomb', key: 'bomb'};
  const requestOf = () => new RecordedRequest(true, '', null, {call});
  const lost = (host: TestHost) => host.sent.filter(message => message.type === 'link_lost');

  test('are reported to its supervisor, once, with those of its own routers', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    const [there, here] = [requestOf(), new RecordedRequest(true, '', null, {call: {name: 'm:own', key: 'own'}})];
    b.directory.forward(b.tenant, here);
    a.directory.forward(a.tenant, there);
    await worker.received(4);
    b.onWake = () => undefined;
    worker.die();
    expect(await there.outcome).toBe('session.worker_unavailable');
    await until('the supervisor to know', () => lost(b).length > 0);
    const {calls, ...rest} = lost(b)[0]!;
    expect(rest).toEqual({type: 'link_lost', tenant: TENANT, worker: worker.address.worker});
    expect(calls.toSorted((one, other) => one.key.localeCompare(other.key))).toEqual([
      call,
      {name: 'm:own', key: 'own'},
    ]);
    expect(lost(a)).toEqual([]);
  });

  test('are none of a link that its router has ended, which is not waited for', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    await isRead(a, worker);
    expect(a.tenant.release()).toBe(false);
    await until('the link to have ended', () => b.metric('svc_peer_incoming_links') === 0);
    b.onWake = () => undefined;
    worker.die();
    await until('the supervisor to know', () => lost(b).length > 0);
    expect(lost(b)).toEqual([{type: 'link_lost', tenant: TENANT, worker: worker.address.worker, calls: []}]);
  });

  test('are refused by its routers too once they are quarantined; an answered one is innocent everywhere', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    await isRead(a, worker);
    const suspects = (refusedMs: number) =>
      b.directory.receive({type: 'suspects', tenant: TENANT, calls: [{key: call.key, refusedMs}], functions: []});
    suspects(60_000);
    const isRefused = () => {
      const request = requestOf();
      try {
        a.directory.forward(a.tenant, request);
        request.abort();
        return false;
      } catch {
        return true;
      }
    };
    await until('it to be refused', isRefused);
    suspects(0);
    await until('it to be served', () => !isRefused());
    const frames = worker.frames.length;
    const served = requestOf();
    a.directory.forward(a.tenant, served);
    await worker.received(frames + 1);
    worker.answer('', 'ok');
    expect(await served.outcome).toBe('200 ok');
    await until('the supervisor to know', () =>
      b.sent.some(message => message.type === 'call_answered' && message.key === call.key),
    );
  });

  test('a worker that violates the protocol is reported to its own supervisor', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    a.directory.forward(a.tenant, requestOf());
    await worker.received(3);
    worker.sendGarbage();
    const malformed = await until('the supervisor to know', () =>
      b.sent.find(message => message.type === 'link_malformed'),
    );
    expect(malformed).toMatchObject({tenant: TENANT, worker: worker.address.worker});
    expect(a.sent.some(({type}) => type === 'link_malformed')).toBe(false);
  });
});

describe('when the link is lost', () => {
  test('reads go to the next worker once; writes under way have an unknown outcome', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    const [read, write] = [new RecordedRequest(true), new RecordedRequest(false, 'body')];
    a.directory.forward(a.tenant, read);
    a.directory.forward(a.tenant, write);
    await worker.received(4);
    const next = await b.serves();
    worker.die();
    expect(await write.outcome).toBe('session.outcome_unknown');
    await next.received(3);
    next.answer('', 'ok');
    expect(await read.outcome).toBe('200 ok');
  });

  test('a router that stops lets everything be answered, and then has no link', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    const write = new RecordedRequest(false, 'body');
    a.directory.forward(a.tenant, write);
    await worker.received(3);
    const own = await a.serves();
    let isDrained = false;
    const drained = b.drain().then(() => {
      isDrained = true;
    });
    await until('the other router to know', () => a.tenant.link === null);
    expect(isDrained).toBe(false);
    worker.answer('', 'done');
    expect(await write.outcome).toBe('200 done');
    await drained;
    expect(b.tenant.isBusy).toBe(false);
    const next = new RecordedRequest(true);
    a.directory.forward(a.tenant, next);
    await own.received(2);
    own.answer('', 'ok');
    expect(await next.outcome).toBe('200 ok');
  });

  test('a tenant that moves to another host is served there, and nothing of it is refused', async () => {
    const {a, b} = await twoHosts();
    const worker = await b.serves();
    const [before, after] = [new RecordedRequest(false, 'before'), new RecordedRequest(false, 'after')];
    a.directory.forward(a.tenant, before);
    await worker.received(3);
    const own = await a.serves();
    b.giveUp();
    await until('the router to know', () => a.tenant.link === null);
    a.directory.forward(a.tenant, after);
    worker.send(FrameKind.response, 1, FrameFlag.none, '', 'first');
    expect(await before.outcome).toBe('200 first');
    await until('the worker to be given up', () => b.sent.some(({type}) => type === 'given_up'));
    await own.received(2);
    own.answer('', 'second');
    expect(await after.outcome).toBe('200 second');
  });
});
