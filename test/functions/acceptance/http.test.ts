import {beforeAll, describe, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const FILES = {
  'http.ts': `
    import {httpRouter} from 'svc/server';
    import {httpAction} from './_generated/server';
    const http = httpRouter();
    const says = (text: string) => httpAction(async () => new Response(text, {headers: {'x-says': text}}));
    http.route({path: '/a', method: 'GET', handler: says('exact')});
    http.route({pathPrefix: '/a/', method: 'GET', handler: says('prefix')});
    http.route({pathPrefix: '/a/b/', method: 'GET', handler: says('longer prefix')});
    http.route({path: '/', method: 'GET', handler: says('root')});
    http.route({path: '/stream', method: 'GET', handler: httpAction(async () => {
      let n = 0;
      return new Response(new ReadableStream({
        pull(controller) {
          if (n === 3) throw new Error('in the middle');
          controller.enqueue(new TextEncoder().encode('chunk ' + n++ + ';'));
        },
      }));
    })});
    http.route({path: '/throws', method: 'GET', handler: httpAction(async () => { throw new Error('before it answered'); })});
    http.route({path: '/nothing', method: 'GET', handler: httpAction(async () => undefined as never)});
    http.route({path: '/empty', method: 'GET', handler: httpAction(async () => new Response())});
    http.route({path: '/auth', method: 'GET', handler: httpAction(async (ctx, request) => {
      let identity: unknown;
      try { identity = await ctx.auth.getUserIdentity(); } catch (error) { identity = 'threw: ' + (error as Error).message; }
      return Response.json({header: request.headers.get('authorization'), identity});
    })});
    http.route({path: '/echo', method: 'POST', handler: httpAction(async (_ctx, request) =>
      new Response(request.body, {status: 201, headers: [['x-url', request.url], ['set-cookie', 'a=1'], ['set-cookie', 'b=2']]}))});
    http.route({path: '/json', method: 'POST', handler: httpAction(async (_ctx, request) => Response.json({got: await request.json()}))});
    http.route({path: '/form', method: 'POST', handler: httpAction(async (_ctx, request) =>
      Response.json(Object.fromEntries([...(await request.formData()).entries()].map(([k, v]) => [k, String(v)]))))});
    export default http;`,
};

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

const http = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  app.svc(method, `/http${path}`, body, headers);

describe('HTTP actions', () => {
  test.each([
    ['GET', '/a', 200, 'exact'],
    ['GET', '/a/x', 200, 'prefix'],
    ['GET', '/a/', 200, 'prefix'],
    ['GET', '/a/b/c', 200, 'longer prefix'],
    ['GET', '/', 200, 'root'],
    ['GET', '', 200, 'root'],
    ['GET', '/A', 404, 'No matching routes found'],
    ['POST', '/a', 404, 'No matching routes found'],
    ['GET', '/%61', 404, 'No matching routes found'],
  ])('[49] %s %j → %i %s', async (method, path, status, text) => {
    const reply = await http(method, path);
    expect({status: reply.status, text: reply.text}).toEqual({status, text: expect.stringContaining(text)});
  });

  test('[50] HEAD is GET without the body; OPTIONS belongs to the app', async () => {
    const head = await http('HEAD', '/a');
    expect([head.status, head.headers['x-says'], head.text]).toEqual([200, 'exact', '']);
    const options = await http('OPTIONS', '/a', undefined, {origin: 'https://app.example'});
    expect(options.status).toBe(404);
    expect(Object.keys(options.headers).filter(name => name.startsWith('access-control'))).toEqual([]);
  });

  test('[51] a body that fails in the middle is cut short, one that fails before is a 500', async () => {
    const {status, received, ended} = await app.readUntilEnd('/http/stream');
    expect(status).toBe(200);
    expect(received).toBe('chunk 0;chunk 1;chunk 2;');
    expect(ended).toBe('cut short');
    const failed = await http('GET', '/throws');
    expect(failed.status).toBe(500);
    const {error}: {error: {code: string; message: string; detail: {trace: string}}} = failed.body;
    expect(error.code).toBe('op.failed');
    expect(error.message).toMatch(/^\[Request ID: .+\] Server Error: Uncaught Error: before it answered$/);
    expect(error.detail.trace).toContain('http.ts:');
    expect((await http('GET', '/nothing')).status).toBe(500);
    const logged = (await app.logs()).map(entry => `${entry.path} ${entry.error ?? ''}`).join('\n');
    expect(logged).toContain('in the middle');
  });

  test('[52] the Authorization header is the app’s own', async () => {
    const own = await http('GET', '/auth', undefined, {authorization: 'Basic x'});
    expect(own.body).toEqual({header: 'Basic x', identity: expect.stringContaining('threw')});
    expect((await http('GET', '/auth')).body).toEqual({header: null, identity: null});
  });

  test('bodies, headers and status go both ways', async () => {
    const bytes = Buffer.from(Array.from({length: 300_000}, (_, i) => i % 256));
    const echoed = await app.rawSvc('POST', '/http/echo?x=1', bytes);
    expect(echoed.status).toBe(201);
    expect(echoed.bytes.equals(bytes)).toBe(true);
    expect(echoed.headers['x-url']).toBe(`${service.url}/svc/${app.tenant}/http/echo?x=1`);
    expect(echoed.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect((await http('POST', '/json', {a: [1]})).body).toEqual({got: {a: [1]}});
    const form = await http('POST', '/form', 'a=1&b=x%20y', {'content-type': 'application/x-www-form-urlencoded'});
    expect(form.body).toEqual({a: '1', b: 'x y'});
    const empty = await http('GET', '/empty');
    expect([empty.status, empty.text]).toEqual([200, '']);
  });

  test('a deployment without svc/http.ts says so', async () => {
    const other = await App.deploy(service, {'a.ts': 'export const nothing = 1;'});
    const reply = await other.svc('GET', '/http/a');
    expect([reply.status, reply.text]).toEqual([404, expect.stringContaining('does not have HTTP actions enabled')]);
  });
});
