import {describe, expect, test} from 'vitest';
import {OriginRule} from '../../router/http/origin.ts';

const HOST = '127.0.0.1:3210';
const rule = new OriginRule('127.0.0.1', 3210, ['docs.example.com', 'Api.example.com:8443']);
const forbidden = expect.objectContaining({code: 'auth.origin_forbidden', status: 403});

describe('an Origin must be a loopback page on the server port, as an exact string', () => {
  test.each(['', 'http://localhost:3210', 'http://127.0.0.1:3210', 'http://[::1]:3210'])('%j is accepted', origin => {
    expect(() => rule.check(origin, HOST)).not.toThrow();
  });

  test.each([
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
    expect(() => rule.check(origin, HOST)).toThrowError(forbidden);
  });
});

describe('bound to loopback, the Host must be a loopback name or an allowed one', () => {
  test.each([
    'localhost',
    'LocalHost:3210',
    '127.0.0.1',
    '[::1]:3210',
    'docs.example.com',
    'DOCS.example.com:8443',
    'api.example.com:8443',
  ])('%s is accepted', host => {
    expect(() => rule.check('', host)).not.toThrow();
  });

  test.each([
    '',
    'evil.example',
    'localhost:3211',
    'localhost.evil.example',
    'api.example.com',
    'api.example.com:3210',
  ])('%j is 403', host => {
    expect(() => rule.check('', host)).toThrowError(forbidden);
  });
});

test('bound beyond loopback any Host will do, but Origins are checked all the same', () => {
  const open = new OriginRule('0.0.0.0', 3210, []);
  expect(() => open.check('', 'anything.example')).not.toThrow();
  expect(() => open.check('http://anything.example:3210', 'anything.example')).toThrowError(forbidden);
});
