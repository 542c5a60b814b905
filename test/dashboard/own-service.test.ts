/** What needs a server of its own: a restart, an idle session, several routers, and where flags put the dashboard. */

import {join} from 'node:path';
import Database from 'better-sqlite3';
import {expect, test} from 'vitest';
import {SESSION_IDLE_MS} from '../../supervisor/limits.ts';
import {Dashboard} from '../harness/dashboard.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

test('a restart keeps a session, except one that was idle for too long; both routers know it', async () => {
  const service = await Service.start({args: ['--routers', '2', '--port', '0']});
  try {
    const [kept, idle] = [await Dashboard.signedIn(service), await Dashboard.signedIn(service)];
    for (let i = 0; i < 8; i++) expect((await kept.get('/_dashboard/session')).status).toBe(200);
    const {id}: {id: string} = (await idle.get('/_dashboard/session')).body;
    await service.killAll();
    const db = new Database(join(service.data, 'sessions.sqlite'));
    const past = db.prepare('INSERT OR REPLACE INTO uses (id, used_ms) VALUES (?, ?)');
    past.run(id, Date.now() - SESSION_IDLE_MS);
    db.close();
    await service.run();
    const at = async ({cookie}: Dashboard) => {
      const moved = new Dashboard(service);
      moved.cookie = cookie.replace(/_\d+=/, `_${service.port}=`);
      return (await moved.get('/_dashboard/session')).status;
    };
    expect([await at(kept), await at(idle)]).toEqual([200, 401]);
  } finally {
    await service.stop();
  }
});

test('behind a proxy it has the given name, and a cookie for that host alone', async () => {
  const origin = 'https://admin.example.com';
  const service = await Service.start({args: ['--dashboard-origin', origin]});
  try {
    const dashboard = new Dashboard(service, 'admin.example.com', origin);
    const reply = await dashboard.signIn({token: service.accessToken});
    expect([reply.headers['set-cookie']].flat()[0]).toMatch(/^__Host-svc_dashboard=[^;]+; Path=\/; Secure; HttpOnly; /);
    expect((await dashboard.get('/_dashboard/api/tenants')).status).toBe(200);
    expect((await dashboard.get('/_dashboard/api/tenants', {origin: 'http://admin.example.com'})).status).toBe(403);
    expect(await service.get('/_dashboard/')).toMatchObject({
      status: 307,
      headers: {location: `${origin}/_dashboard/`},
    });
    expect((await new Dashboard(service).get('/_dashboard/')).status).toBe(403); // not a name of the server then
  } finally {
    await service.stop();
  }
});

test('on a port of its own it answers to every loopback name, and to no other', async () => {
  const service = await Service.start({args: ['--dashboard-port', '0']});
  try {
    await until('the line', () => service.output.some(line => line.startsWith('dashboard: ')));
    const url = service.output.find(line => line.startsWith('dashboard: '))!.split(' ')[1]!;
    const {host} = new URL(url);
    const dashboard = new Dashboard(service, host);
    expect((await dashboard.signIn({token: service.accessToken})).status).toBe(200);
    expect((await dashboard.get('/_dashboard/api/tenants')).status).toBe(200);
    expect((await fetch(`${url}/_dashboard/`)).status).toBe(200);
    const rebound = new Dashboard(service, `evil.example:${new URL(url).port}`);
    expect((await rebound.signIn({token: service.accessToken})).status).toBe(403);
    expect(await service.get('/_dashboard/')).toMatchObject({status: 307, headers: {location: `${url}/_dashboard/`}});
  } finally {
    await service.stop();
  }
});
