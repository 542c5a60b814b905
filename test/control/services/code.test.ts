/** What the code of a service is given: the functions of the tenant, live queries, the scheduler, its variables, a log, and no more. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {SERVICE_EXIT_CHARS_MAX, SERVICE_LOG_LINES_MAX} from '../../../worker/control/limits.ts';
import {App} from '../../functions/app.ts';
import {onNode} from '../../functions/node/node-app.ts';
import {nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {NODE_VERSION, ServiceClient} from '../service-client.ts';

let service: Service;
let app: App;
let services: ServiceClient;
beforeAll(async () => {
  service = await Service.start();
  app = await App.deploy(service, {'m.ts': MESSAGES});
  services = new ServiceClient({request: (...args) => app.admin(...args)});
});
afterAll(() => service.stop());

const MESSAGES = `
  import {query, paginatedQuery, mutation, internalMutation, internalQuery, action} from './_generated/server';
  export const list = query(async ctx => (await ctx.db.query('messages').collect()).map(({text}) => text));
  export const count = internalQuery(async ctx => (await ctx.db.query('messages').collect()).length);
  export const page = paginatedQuery(async (ctx, {paginationOpts}) => await ctx.db.query('messages').paginate(paginationOpts));
  export const some = query(async (ctx, {n}) => {
    if ((await ctx.db.query('messages').collect()).length === n) throw new Error('unlucky');
    return n;
  });
  export const add = mutation(async (ctx, {text}) => { await ctx.db.insert('messages', {text}); });
  export const addInternal = internalMutation(async (ctx, {text}) => { await ctx.db.insert('messages', {text}); });
  export const clear = mutation(async ctx => {
    for (const {_id} of await ctx.db.query('messages').collect()) await ctx.db.delete(_id);
  });
  export const refuse = mutation(async () => { throw new Error('not today'); });
  export const shout = action(async (ctx, {text}) => text.toUpperCase());
`;

/** The app, without messages, with a service of this code: an ES module's body of the function. */
async function running(body: string, more: object = {}): Promise<{app: App; services: ServiceClient}> {
  await app.admin('DELETE', '/services/it');
  await app.mutation('m:clear', {});
  const code = `export default async (ctx, signal, log) => {
    ${body}
    await new Promise(done => signal.addEventListener('abort', done));
  };`;
  await services.inline('it', code, more);
  return {app, services};
}

describe('its context', () => {
  test('runQuery, runMutation, runAction: public and internal functions of the tenant', async () => {
    const {app, services} = await running(`
      await ctx.runMutation('m:add', {text: 'one'});
      await ctx.runMutation('m:addInternal', {text: 'two'});
      log.info(await ctx.runQuery('m:list', {}), await ctx.runQuery('m:count'), await ctx.runAction('m:shout', {text: 'a'}));
    `);
    await services.says('it', "[ 'one', 'two' ] 2 'A'");
    expect(await app.query('m:list', {})).toEqual(['one', 'two']);
  });

  nightly.test('what a function throws is thrown, and what is not there is said to be so', async () => {
    const {services} = await running(`
      await ctx.runMutation('m:refuse').catch(error => log.info(error.message.split('\\n')[0]));
      await ctx.runQuery('m:none').catch(error => log.info(error.message));
    `);
    await services.says('it', 'not today');
    await services.says('it', "Could not find function for 'm:none'");
  });

  test('the scheduler: jobs are made and cancelled', async () => {
    const {app, services} = await running(`
      await ctx.scheduler.runAfter(0, 'm:add', {text: 'later'});
      const job = await ctx.scheduler.runAfter(600_000, 'm:add', {text: 'never'});
      await ctx.scheduler.cancel(job);
      log.info('scheduled');
    `);
    await services.says('it', "'scheduled'");
    await until('the job ran', async () => ((await app.query('m:list', {})) as string[]).includes('later'));
    expect((await app.admin('GET', '/schedule')).body).toMatchObject({jobs: []});
  });

  test('it has no database and no identity, and is nothing that a client could call', async () => {
    const {services} = await running('log.info(Object.keys(ctx).sort().join());');
    await services.says('it', "'onChange,runAction,runMutation,runQuery,scheduler'");
  });
});

describe('onChange', () => {
  test('calls its listener with the result now, and with each that is new', async () => {
    const {app, services} = await running("ctx.onChange('m:list', {}, texts => log.info('sees', texts.join('+')));");
    await services.says('it', "'sees' ''");
    await app.mutation('m:add', {text: 'a'});
    await services.says('it', "'sees' 'a'");
    await app.mutation('m:add', {text: 'b'});
    await services.says('it', "'sees' 'a+b'");
    const seen = (await services.lines('it')).filter(line => line.startsWith("'sees'"));
    expect(seen).toEqual(["'sees' ''", "'sees' 'a'", "'sees' 'a+b'"]);
  });

  nightly.test('sees internal queries, and writes over the native API', async () => {
    const {app, services} = await running("ctx.onChange('m:count', {}, n => log.info('count', n));");
    await services.says('it', "'count' 0");
    await app.admin('POST', '/documents', {table: 'messages', fields: {text: 'native'}});
    await services.says('it', "'count' 1");
  });

  nightly.test('pages of a paginatedQuery', async () => {
    const {services} = await running(
      "ctx.onChange('m:page', {paginationOpts: {numItems: 2, cursor: null}}, ({page, isDone}) => log.info(page.length, isDone));",
    );
    await services.says('it', '0 true');
  });

  test('a listener that works is not called again meanwhile: the newest result waits, the others are gone', async () => {
    const {app, services} = await running(`
      let isBusy = false;
      const first = Promise.withResolvers();
      ctx.onChange('m:list', {}, async texts => {
        if (isBusy) log.error('overlap');
        isBusy = true;
        log.info('sees', texts.length);
        if (texts.length === 0) await first.promise;
        isBusy = false;
      });
      ctx.onChange('m:count', {}, n => { if (n === 5) setTimeout(first.resolve, 100); });
    `);
    await services.says('it', "'sees' 0");
    for (let n = 0; n < 5; n++) await app.mutation('m:add', {text: `${n}`});
    await services.says('it', "'sees' 5");
    expect((await services.lines('it')).filter(line => /sees|overlap/.test(line))).toEqual(["'sees' 0", "'sees' 5"]);
  });

  test('what it returns ends it', async () => {
    const {app, services} = await running(`
      const stop = ctx.onChange('m:list', {}, texts => { log.info('sees', texts.length); if (texts.length === 1) stop(); });
      ctx.onChange('m:count', {}, n => log.info('count', n));
    `);
    await services.says('it', "'count' 0");
    await app.mutation('m:add', {text: 'a'});
    // Results that come close together are one.
    await services.says('it', "'sees' 1");
    await app.mutation('m:add', {text: 'b'});
    await services.says('it', "'count' 2");
    expect((await services.lines('it')).filter(line => line.includes('sees'))).toEqual(["'sees' 0", "'sees' 1"]);
  });

  test('an error goes to onError, or to the log; the query goes on', async () => {
    const {app, services} = await running(`
      ctx.onChange('m:some', {n: 1}, n => log.info('fine', n), error => log.info('told', error.message.split('\\n')[0]));
      ctx.onChange('m:some', {n: 2}, () => log.info('other'));
    `);
    await services.says('it', "'fine' 1");
    await app.mutation('m:add', {text: 'a'});
    await services.says('it', 'unlucky');
    await services.says('it', "'told'");
    await app.mutation('m:add', {text: 'b'});
    await services.says('it', 'onChange of m:some failed:');
    await until(
      'it is fine again',
      async () => (await services.lines('it')).filter(line => line === "'fine' 1").length === 2,
    );
    expect((await services.get('it')).state).toBe('running');
  });

  nightly.test('what a listener throws ends the service, which is started again', async () => {
    const {services} = await running("ctx.onChange('m:count', {}, () => { throw new Error('bad listener'); });");
    const {last_exit} = await services.untilIt('it', 'it was started again', ({restarts}) => restarts > 0);
    expect(last_exit).toMatchObject({reason: 'threw', message: expect.stringContaining('bad listener')});
  });

  nightly.test('more than a service may hold are refused', async () => {
    const {services} = await running(`
      for (let n = 0; n < 65; n++) ctx.onChange('m:some', {n: 1_000 + n}, () => {}, error => log.info(error.message));
    `);
    await services.says('it', 'a service holds at most 64 live queries');
  });
});

describe('its process', () => {
  test("has the tenant's variables and its own, which come first, and none of the server's", async () => {
    const app = await App.deploy(service, {'m.ts': MESSAGES});
    await app.admin('PUT', '/env/SHARED', {value: 'tenant'});
    await app.admin('PUT', '/env/HIDDEN', {value: 'tenant'});
    const services = new ServiceClient({request: (...args) => app.admin(...args)});
    await services.inline(
      'it',
      'export default async (ctx, signal, log) => log.info(JSON.stringify(Object.entries(process.env).sort()));',
      {restart: 'never', env: {HIDDEN: 'own', OWN: 'own'}},
    );
    await services.says('it', '[["HIDDEN","own"],["OWN","own"],["SHARED","tenant"],["TZ","UTC"]]');
  });

  test('runs on the version that was asked for, confined as those of actions are', async () => {
    const {services} = await running(`
      const {readFileSync, writeFileSync} = await import('node:fs');
      const {spawn} = await import('node:child_process');
      const {connect} = await import('node:net');
      const tried = {};
      const attempt = (name, act) => { try { act(); tried[name] = 'done'; } catch (error) { tried[name] = error.code ?? error.message; } };
      attempt('read', () => readFileSync('/etc/passwd'));
      attempt('write', () => writeFileSync('x', 'y'));
      attempt('spawn', () => spawn('true'));
      attempt('kill', () => process.kill(process.ppid, 0));
      tried.connect = await new Promise(done => connect({host: '127.0.0.1', port: ${service.port}})
        .on('connect', () => done('connected')).on('error', error => done(error.message.split(':')[0])));
      log.info(process.version.split('.')[0], JSON.stringify(tried));
    `);
    await services.says('it', `'v${NODE_VERSION}'`);
    const line = (await services.lines('it')).find(one => one.startsWith("'v"))!;
    const tried = JSON.parse(line.slice(line.indexOf('{'), -1)) as Record<string, string>;
    expect(tried).toEqual({
      read: 'ERR_ACCESS_DENIED',
      write: 'ERR_ACCESS_DENIED',
      spawn: 'ERR_ACCESS_DENIED',
      kill: 'ERR_ACCESS_DENIED',
      connect: expect.not.stringMatching('^connected$'),
    });
  });

  nightly.test('one of a tenant that computes without end costs its tenant nothing', async () => {
    const {app, services} = await running('for (;;);');
    await services.is('it', 'running');
    await app.mutation('m:add', {text: 'still here'});
    expect(await app.query('m:list', {})).toEqual(['still here']);
    await app.admin('DELETE', '/services/it');
  });
});

describe('its log', () => {
  test('has a level and a time each, the newest are asked for with history', async () => {
    const {app, services} = await running(
      "log.debug('a'); log.info('b'); log.warn('c'); log.error('d'); console.log('e'); process.emitWarning('unseen');",
    );
    await services.says('it', "'e'");
    const entries = (await services.entries('it')).filter(({level}) => level !== 'service');
    expect(entries.map(({level, line}) => `${level} ${line}`)).toEqual([
      "debug 'a'",
      "info 'b'",
      "warn 'c'",
      "error 'd'",
      "log 'e'",
    ]);
    expect(entries.every(({at}) => Math.abs(at - Date.now()) < 600_000)).toBe(true);
    const {text} = await app.admin('GET', '/services/it/logs?history=1');
    expect(text.trimEnd().split('\n')).toHaveLength(1);
  });

  test('says what became of the service', async () => {
    const {services} = await running('');
    await services.is('it', 'running');
    await services.act('it', 'stop');
    const said = (await services.entries('it')).filter(({level}) => level === 'service').map(({line}) => line);
    expect(said).toEqual([expect.stringMatching(/^runs as process \d+$/), 'is to stop', 'ended: stopped']);
  });

  test('with follow=true goes on with every line as it is written', async () => {
    const {app, services} = await running("ctx.onChange('m:count', {}, n => log.info('count', n));");
    await services.says('it', "'count' 0");
    const head = `GET /api/tenants/${app.tenant}/services/it/logs?follow=true HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nAuthorization: Bearer ${service.accessToken}\r\n\r\n`;
    let isWritten = false;
    const received = await service.raw(head, text => {
      if (text.includes("'count' 0") && !isWritten) {
        isWritten = true;
        void app.mutation('m:add', {text: 'a'});
      }
      return text.includes("'count' 1");
    });
    expect(received).toContain('application/x-ndjson');
  });

  nightly.test('more than it may log in a second is dropped, and said to be', async () => {
    const {services} = await running(
      'for (let n = 0; n < 5_000; n++) log.info(n); setTimeout(() => log.info("after"), 1_500);',
    );
    await services.says('it', "'after'");
    const lines = await services.lines('it');
    expect(lines.some(line => /^\d+ lines were dropped/.test(line))).toBe(true);
    expect(lines.length).toBeLessThan(4 * SERVICE_LOG_LINES_MAX);
  });
});

nightly.test('what a service throws is kept in its record and in its log as far as it goes', async () => {
  const {services} = await running("throw new Error('long'.repeat(100_000));", {restart: 'never'});
  const {last_exit} = await services.is('it', 'failed');
  expect(last_exit!.message).toHaveLength(SERVICE_EXIT_CHARS_MAX);
  const line = (await services.lines('it')).find(one => one.startsWith('ended:'));
  expect(line).toBe(`ended: threw, ${last_exit!.message}`);
});

test('a follower of the log of a service that is deleted has read all of it', async () => {
  const {app, services} = await running("log.info('here');");
  await services.says('it', "'here'");
  const path = `/api/tenants/${app.tenant}/services/it/logs?follow=true`;
  const answer = await fetch(`${service.url}${path}`, {headers: {authorization: `Bearer ${service.accessToken}`}});
  expect((await app.admin('DELETE', '/services/it')).status).toBe(204);
  const [history, news] = (await answer.text()).split('\n\n');
  expect(history).toContain("'here'");
  expect(news).toContain('ended: stopped');
});

describe('a module of the active deployment', () => {
  const module = (word: string) => `"use node";
    import {internal, api} from './_generated/api';
    export default async function (ctx, signal, log) {
      log.info('${word}', await ctx.runQuery(internal.m.count, {}));
      await new Promise(done => signal.addEventListener('abort', done));
    }`;
  const files = (word: string) => ({
    ...onNode(NODE_VERSION),
    'm.ts': MESSAGES,
    'workers/mail.ts': module(word).replace("'./_gen", "'../_gen"),
  });

  test('runs, with references of its generated code and the version of Node of its deployment', async () => {
    const app = await App.deploy(service, files('first'));
    const services = new ServiceClient({request: (...args) => app.admin(...args)});
    const made = await services.create({
      name: 'mail',
      source: {type: 'module', path: 'workers/mail'},
      node_version: undefined,
    });
    expect(made.node_version).toBeNull();
    await services.says('mail', "'first' 0");
  });

  test('a deploy of new code restarts it; one that changes nothing of its code does not', async () => {
    const app = await App.deploy(service, files('first'));
    const services = new ServiceClient({request: (...args) => app.admin(...args)});
    await services.create({name: 'mail', source: {type: 'module', path: 'workers/mail'}});
    await services.inline(
      'other',
      'export default (ctx, signal) => new Promise(done => signal.addEventListener("abort", done));',
    );
    await services.says('mail', "'first' 0");
    const other = await services.is('other', 'running');
    const before = await services.is('mail', 'running');
    await app.deploy({...files('first'), 'm.ts': `${MESSAGES} export const more = query(async () => 1);`});
    await app.deploy(files('second'));
    await services.says('mail', "'second' 0");
    const starts = (await services.lines('mail')).filter(line => line.startsWith('runs as process'));
    expect(starts).toHaveLength(2);
    expect((await services.get('mail')).created_at).toBe(before.created_at);
    expect((await services.get('other')).started_at).toBe(other.started_at);
  });

  nightly.test('without its module it has failed, with it it runs again', async () => {
    const app = await App.deploy(service, files('first'));
    const services = new ServiceClient({request: (...args) => app.admin(...args)});
    await services.create({name: 'mail', source: {type: 'module', path: 'workers/mail.ts'}});
    await services.says('mail', "'first' 0");
    await app.deploy({'m.ts': MESSAGES});
    const failed = await services.is('mail', 'failed');
    expect(failed).toMatchObject({desired_state: 'running', last_exit: {reason: 'not_started'}});
    expect(failed.last_exit!.message).toContain('source.path must be a module of the active deployment');
    await app.deploy(files('second'));
    await services.says('mail', "'second' 0");
  });

  test('variables and egress policy are those of now: a change of either restarts it', async () => {
    const {app, services} = await running("log.info('word', process.env.WORD);");
    await services.says('it', "'word' undefined");
    await app.admin('PUT', '/env/WORD', {value: 'new'});
    await services.says('it', "'word' 'new'");
    const {started_at} = await services.is('it', 'running');
    await app.admin('PUT', '/settings', {egress: {allow: ['10.0.0.1'], deny: []}, allowed_origins: null});
    await services.untilIt(
      'it',
      'it runs anew',
      record => record.state === 'running' && record.started_at! > started_at!,
    );
  });
});
