import {describe, expect, test} from 'vitest';
import {cookieIn, cookieName, setCookie} from '../../router/dashboard/cookie.ts';
import {isDashboardPath, Surfaces} from '../../router/dashboard/surfaces.ts';

const named = new Surfaces({origin: null, port: null});
const proxied = new Surfaces({origin: 'https://admin.example.com', port: null});
const onPort = new Surfaces({origin: null, port: 0});
onPort.ownPort = 3211;

describe('host and path decide about the surface', () => {
  test.each([
    ['127.0.0.1:3210', '/api/tenants', 'api'],
    ['127.0.0.1:3210', '/_dashboard/api/tenants', 'api'],
    ['127.0.0.1:3210', '/svc/acme/http/x', 'deployment'],
    ['', '/svc/acme/query', 'deployment'],
    ['dashboard.localhost:3210', '/_dashboard/', 'dashboard'],
    ['dashboard.localhost:9', '/api/tenants', 'dashboard'],
    ['Dashboard.LocalHost', '/svc/acme/http/x', 'dashboard'],
    ['dashboard.localhost.evil.example', '/svc/acme/http/x', 'deployment'],
    ['x.dashboard.localhost:3210', '/ws', 'api'],
    ['dashboard.localhost:3210:1', '/ws', 'api'],
  ])('%s%s is %s', (host, path, surface) => {
    expect(named.of(host, path)).toBe(surface);
    expect(named.of(host, path)).toBe(surface); // from its cache
  });

  test('behind a proxy only the given name is the dashboard', () => {
    const at = (host: string) => proxied.of(host, '/_dashboard/');
    expect([at('admin.example.com'), at('dashboard.localhost:3210'), at('admin.example.com:444')]).toEqual([
      'dashboard',
      'api',
      'api',
    ]);
  });

  test('with a port of its own, that port is the dashboard under every name', () => {
    const at = (host: string) => onPort.of(host, '/svc/acme/query');
    expect([at('10.0.0.7:3211'), at('[::1]:3211'), at('10.0.0.7:3210'), at('dashboard.localhost:3210')]).toEqual([
      'dashboard',
      'dashboard',
      'deployment',
      'deployment',
    ]);
  });

  test('without a dashboard there is none', () => {
    expect(new Surfaces(null).of('dashboard.localhost:3210', '/_dashboard/')).toBe('api');
  });
});

test('other hosts lead to the dashboard where a browser can reach it from', () => {
  expect(named.originFrom('localhost:9000')).toBe('http://dashboard.localhost:9000');
  expect(named.originFrom('[::1]:3210')).toBe('http://dashboard.localhost:3210');
  expect(named.originFrom('svc.example.com')).toBeNull();
  expect(proxied.originFrom('svc.example.com')).toBe('https://admin.example.com');
  expect(onPort.originFrom('10.0.0.7:3210')).toBe('http://10.0.0.7:3211');
  expect(new Surfaces(null).originFrom('localhost:9000')).toBeNull();
});

test('the origin of its pages is that of the host, as a browser writes it', () => {
  expect(named.originOf('Dashboard.localhost:9000')).toBe('http://dashboard.localhost:9000');
  expect(proxied.originOf('admin.example.com')).toBe('https://admin.example.com');
});

test('its path is a segment, not a prefix of one', () => {
  expect(
    ['/_dashboard', '/_dashboard/', '/_dashboard/x', '/_dashboards', '/x/_dashboard'].map(isDashboardPath),
  ).toEqual([true, true, true, false, false]);
});

describe('the cookie of a session', () => {
  test('is for its own host alone, where the browser can promise that', () => {
    expect(setCookie('https://admin.example.com', 'v', 60.9)).toBe(
      '__Host-svc_dashboard=v; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=60',
    );
    expect(setCookie('http://dashboard.localhost:3210', '', -1)).toBe(
      'svc_dashboard_3210=; Path=/_dashboard; HttpOnly; SameSite=Strict; Max-Age=0',
    );
    expect(cookieName('http://dashboard.localhost')).toBe('svc_dashboard_80');
  });

  test.each([
    ['s=1', '1'],
    ['a=b; s=1; c', '1'],
    [' s = a=b ;x', 'a=b'],
    ['', ''],
    ['ss=1; xs=2', ''],
    ['s', ''],
    ['S=1', ''],
    ['s=1; s=2', ''],
  ])('%j holds %j', (header, value) => {
    expect(cookieIn(header, 's')).toBe(value);
  });
});
