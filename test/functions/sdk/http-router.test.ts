import {describe, expect, test} from 'vitest';
import {httpActionGeneric, httpRouter, type RouteSpec} from '../../../sdk/server/index.ts';

const handler = httpActionGeneric(async () => new Response());
const other = httpActionGeneric(async () => new Response());

describe('a route', () => {
  test.each<[string, object, RegExp]>([
    [
      'both forms',
      {path: '/a', pathPrefix: '/a/', method: 'GET', handler},
      /cannot contain both 'path' and 'pathPrefix'/,
    ],
    ['neither form', {method: 'GET', handler}, /must contain either field/],
    ['a relative path', {path: 'a', method: 'GET', handler}, /does not start with a \//],
    ['an empty path', {path: '', method: 'GET', handler}, /does not start with a \//],
    ['a relative prefix', {pathPrefix: 'a/', method: 'GET', handler}, /does not start with a \//],
    ['a prefix without its end', {pathPrefix: '/a', method: 'GET', handler}, /must end with a \//],
    ['no handler', {path: '/a', method: 'GET'}, /route requires handler/],
    ['no method', {path: '/a', handler}, /route requires method/],
    ['HEAD', {path: '/a', method: 'HEAD', handler}, /'HEAD' is not an allowed HTTP method/],
    ['a method in lower case', {path: '/a', method: 'get', handler}, /'get' is not an allowed HTTP method/],
  ])('with %s is refused', (_, spec, message) => expect(() => httpRouter().route(spec as RouteSpec)).toThrow(message));

  test('is there once', () => {
    const router = httpRouter();
    router.route({path: '/x', method: 'GET', handler});
    router.route({path: '/x', method: 'POST', handler});
    router.route({pathPrefix: '/x/', method: 'GET', handler});
    expect(() => router.route({path: '/x', method: 'GET', handler})).toThrow("Path '/x' for method GET already in use");
    expect(() => router.route({pathPrefix: '/x/', method: 'GET', handler})).toThrow(
      'GET pathPrefix /x/ is already defined',
    );
  });
});

describe('the tables of a router', () => {
  test('are maps by path and method, and by method and prefix', () => {
    const router = httpRouter();
    router.route({path: '/a', method: 'GET', handler});
    router.route({pathPrefix: '/a/', method: 'POST', handler: other});
    expect(router.exactRoutes).toEqual(new Map([['/a', new Map([['GET', handler]])]]));
    expect(router.prefixRoutes).toEqual(new Map([['POST', new Map([['/a/', other]])]]));
  });
  test('may be shared, extended and replaced, as helpers for CORS do', () => {
    const router = httpRouter();
    router.route({path: '/a', method: 'GET', handler});
    const helper = httpRouter();
    helper.exactRoutes = router.exactRoutes;
    helper.prefixRoutes = router.prefixRoutes;
    helper.route({path: '/a', method: 'POST', handler});
    helper.exactRoutes.set('/a', new Map([...helper.exactRoutes.get('/a')!, ['OPTIONS', other]]));
    helper.prefixRoutes.set('OPTIONS', new Map([['/b/', other]]));
    router.exactRoutes = new Map(helper.exactRoutes);
    router.prefixRoutes = new Map(helper.prefixRoutes);
    expect(router.getRoutes().map(([path, method]) => `${method} ${path}`)).toEqual([
      'GET /a',
      'OPTIONS /a',
      'POST /a',
      'OPTIONS /b/*',
    ]);
    expect(router.lookup('/b/c', 'OPTIONS')).toEqual([other, 'OPTIONS', '/b/*']);
  });
});

describe('a lookup', () => {
  const router = httpRouter();
  router.route({path: '/a', method: 'GET', handler});
  router.route({pathPrefix: '/a/', method: 'GET', handler: other});
  router.route({pathPrefix: '/a/b/', method: 'GET', handler});
  router.route({path: '/a/b/c', method: 'POST', handler: other});
  router.route({pathPrefix: '/', method: 'DELETE', handler});

  test.each<[string, Parameters<typeof router.lookup>[1], string | null]>([
    ['/a', 'GET', '/a'],
    ['/a', 'HEAD', '/a'],
    ['/a/', 'GET', '/a/*'],
    ['/a/x', 'GET', '/a/*'],
    ['/a/b/x', 'GET', '/a/b/*'],
    ['/a/b/c', 'GET', '/a/b/*'],
    ['/a/b/c', 'POST', '/a/b/c'],
    ['/a', 'POST', null],
    ['/A', 'GET', null],
    ['/b', 'GET', null],
    ['/%61', 'GET', null],
    ['/anything', 'DELETE', '/*'],
  ])('of %s %s finds %s', (path, method, route) => expect(router.lookup(path, method)?.[2] ?? null).toBe(route));

  test('gives the handler and the method that serves it', () => {
    expect(router.lookup('/a/b/c', 'HEAD')).toEqual([handler, 'GET', '/a/b/*']);
  });
  test('routes are listed paths first, then prefixes by method', () => {
    expect(router.getRoutes().map(([path, method]) => `${method} ${path}`)).toEqual([
      'GET /a',
      'POST /a/b/c',
      'DELETE /*',
      'GET /a/*',
      'GET /a/b/*',
    ]);
    expect(router._routes()[3]).toEqual({method: 'GET', path: null, pathPrefix: '/a/', handler: other});
    expect(router._routes().map(route => route.handler)).toEqual(router.getRoutes().map(([, , of]) => of));
  });
});
