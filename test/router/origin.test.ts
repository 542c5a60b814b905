import {describe, expect, test} from 'vitest';
import {OriginRule} from '../../router/http/origin.ts';

const rule = new OriginRule('127.0.0.1', 3210, ['docs.example.com', 'Api.example.com:8443']);
const forbidden = expect.objectContaining({code: 'auth.origin_forbidden', status: 403});

describe('an Origin must be a loopback page on the server port, as an exact string', () => {
  test.each(['http://localhost:3210', 'http://127.0.0.1:3210', 'http://[::1]:3210'])('%j is accepted', origin => {
    expect(() => rule.checkOrigins([origin])).not.toThrow();
  });

  test('without any there is nothing to look at', () => {
    expect(() => rule.checkOrigins([])).not.toThrow();
  });

  test('two of them are 403, also where each is accepted', () => {
    expect(() => rule.checkOrigins(['http://localhost:3210', 'http://localhost:3210'])).toThrowError(forbidden);
  });

  test.each([
    '',
    'null',
    'http://localhost',
    'http://localhost:3211',
    'https://localhost:3210',
    'http://LOCALHOST:3210',
    'http://localhost:3210/',
    'http://localhost:3210.evil.example',
    'http://127.0.0.2:3210',
    'http://docs.example.com',
  ])('%s is 403', origin => {
    expect(() => rule.checkOrigins([origin])).toThrowError(forbidden);
  });
});

describe('an origin that the operator named is accepted, as an exact string', () => {
  const named = new OriginRule('127.0.0.1', 3210, [], ['https://app.example.com', 'tauri://localhost']);

  test.each(['https://app.example.com', 'tauri://localhost', 'http://localhost:3210'])('%s', origin => {
    expect(() => named.checkOrigins([origin])).not.toThrow();
  });

  test.each([
    ...[
      'http://app.example.com',
      'https://app.example.com:8443',
      'https://x.app.example.com',
      'https://App.example.com',
    ],
    ...['https://app.example.com/', 'https://app.example.com.evil.example', 'tauri://localhost:1', 'null', ''],
  ])('%j is 403', origin => {
    expect(() => named.checkOrigins([origin])).toThrowError(forbidden);
  });

  test('a refused caller learns what to do, and nothing that only a message could carry is repeated', () => {
    expect(() => named.checkOrigins(['https://b.example'])).toThrowError('--allowed-origin https://b.example');
    expect(() => named.checkOrigins(['https://b.example/<script>'])).toThrowError('--allowed-origin ORIGIN');
  });

  test('its pages need a Host of the server all the same', () => {
    expect(() => named.checkHost('app.example.com')).toThrowError(forbidden);
  });
});

describe('bound to loopback, the Host must be a loopback name or an allowed one', () => {
  test.each([
    'localhost',
    'LocalHost:3210',
    'localhost:9000',
    '127.0.0.2:3210',
    '127.0.0.1',
    '[::1]:3210',
    'docs.example.com',
    'DOCS.example.com:8443',
    'api.example.com:8443',
  ])('%s is accepted', host => {
    expect(() => rule.checkHost(host)).not.toThrow();
  });

  test.each([
    '',
    'evil.example',
    'localhost:',
    'localhost:123456',
    '127.1:3210',
    '[::2]:3210',
    'localhost.evil.example',
    'api.example.com',
    'api.example.com:3210',
  ])('%j is 403', host => {
    expect(() => rule.checkHost(host)).toThrowError(forbidden);
  });
});

test.each([
  ['127.0.0.2', 3210, '127.0.0.2:3210', 'http://127.0.0.2:3210'],
  ['127.0.0.2', 80, '127.0.0.2', 'http://127.0.0.2'],
  ['127.0.0.1', 80, 'localhost', 'http://localhost'],
  ['localhost', 80, 'localhost:80', 'http://127.0.0.1:80'],
  ['::1', 80, '[::1]', 'http://[::1]'],
])('bound to %s port %i, its own address is served: Host %s, Origin %s', (host, port, own, origin) => {
  const bound = new OriginRule(host, port, []);
  expect(() => bound.checkHost(own)).not.toThrow();
  expect(() => bound.checkOrigins([origin])).not.toThrow();
});

test('bound beyond loopback any Host will do, but Origins are checked all the same', () => {
  const open = new OriginRule('0.0.0.0', 3210, []);
  expect(() => open.checkHost('anything.example')).not.toThrow();
  expect(() => open.checkOrigins(['http://anything.example:3210'])).toThrowError(forbidden);
});
