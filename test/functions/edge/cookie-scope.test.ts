import {describe, expect, test} from 'vitest';
import {scopedCookie} from '../../../worker/functions/cookie-scope.ts';

describe('a cookie of an HTTP action of the tenant acme', () => {
  test.each([
    ['a=1', 'a=1'],
    ['a=1; Path=/', 'a=1; Path=/svc/acme'],
    ['a=1;path=/', 'a=1; Path=/svc/acme'],
    ['a=1; PATH = / ; Secure', 'a=1; Path=/svc/acme; Secure'],
    ['a=1; Path=/svc/other', 'a=1; Path=/svc/acme'],
    ['a=1; Path=/svc/acme2', 'a=1; Path=/svc/acme'],
    ['a=1; Path=/svc/acme', 'a=1; Path=/svc/acme'],
    ['a=1; Path=/svc/acme/http/x; HttpOnly', 'a=1; Path=/svc/acme/http/x; HttpOnly'],
    ['a=1; Path=x', 'a=1; Path=x'],
    ['a=1; Path=/svc/acme/; Path=/', 'a=1; Path=/svc/acme/; Path=/svc/acme'],
    ['a=1; Domain=example.com; Secure', 'a=1; Secure'],
    ['a=1; domain', 'a=1'],
    ['path=/; Max-Age=5; SameSite=Lax', 'path=/; Max-Age=5; SameSite=Lax'],
    ['', ''],
  ])('%j is sent as %j', (cookie, sent) => {
    expect(scopedCookie(cookie, '/svc/acme')).toBe(sent);
  });
});
