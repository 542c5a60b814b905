/** Whose a request is behind proxies: what a trusted one says is believed, and of that only what it can know. */

import type {HttpRequest} from 'uWebSockets.js';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import {describe, expect, test} from 'vitest';
import {Callers} from '../../router/edge/callers.ts';
import {externalUrl} from '../../router/edge/external-url.ts';
import {FORWARDED_HOPS_MAX, FORWARDED_KEPT_CHARS_MAX, FORWARDED_LISTS_KEPT} from '../../router/limits.ts';
import {parseAddress} from '../../shared/egress/address.ts';

const TRUSTED = ['127.0.0.1', '10.0.0.0/8', '2001:db8:aa::/48'];
const callers = new Callers(TRUSTED, false);

type Header = readonly [name: string, value: string];

/** As uWebSockets.js shows a request: the first line of a name, or each line in turn. */
function request(headers: readonly Header[], url = '/'): HttpRequest {
  const shown = {
    getHeader: (wanted: string) => headers.find(([name]) => name === wanted)?.[1] ?? '',
    forEach: (each: (name: string, value: string) => void) => {
      for (const [name, value] of headers) each(name, value);
    },
    getUrl: () => url,
    getQuery: () => undefined,
  };
  return shown as unknown as HttpRequest;
}

function noted(peer: string, headers: readonly Header[], of = callers) {
  const called = {address: peer, knownAddress: '', isFromProxy: false};
  of.note(called, request(headers));
  return called;
}

/** Whose it is. */
const callerOf = (peer: string, headers: readonly Header[], of = callers) =>
  noted(peer, headers, of).knownAddress || peer;
const xff = (...lines: string[]): Header[] => lines.map(line => ['x-forwarded-for', line]);
const forwarded = (...lines: string[]): Header[] => lines.map(line => ['forwarded', line]);

describe('X-Forwarded-For of a trusted peer: the right-most address that is no trusted proxy', () => {
  test.each([
    ['one address', xff('203.0.113.7'), '203.0.113.7'],
    ['with its port', xff('203.0.113.7:61234'), '203.0.113.7'],
    ['IPv6', xff('2001:DB8:0::1'), '2001:db8::1'],
    ['IPv6 in brackets, with its port', xff('[2001:db8::1]:443'), '2001:db8::1'],
    ['a mapped IPv4 address is the IPv4 one', xff('::ffff:203.0.113.7'), '203.0.113.7'],
    ['behind two proxies', xff('203.0.113.7, 10.1.2.3'), '203.0.113.7'],
    ['behind three, in lines of their own', xff('203.0.113.7', '10.1.2.3', '2001:db8:aa::9'), '203.0.113.7'],
    ['what the client claimed is left of it', xff('1.1.1.1, 203.0.113.7'), '203.0.113.7'],
    ['… also where it claims to be a proxy', xff('10.9.9.9, 203.0.113.7, 10.1.2.3'), '203.0.113.7'],
    ['… or sends a line of its own', xff('1.1.1.1', '203.0.113.7'), '203.0.113.7'],
    ['all are trusted: the first of them', xff('10.0.0.1, 10.0.0.2'), '10.0.0.1'],
  ])('%s', (_what, headers, caller) => {
    expect(callerOf('127.0.0.1', headers)).toBe(caller);
  });
});

describe('a trusted peer that names nobody counts itself, and what it got from others does not', () => {
  test.each([
    ['no header', []],
    ['an empty one', xff('')],
    ['a name', xff('client.example.com')],
    ['unknown', xff('unknown')],
    ['a port alone', xff(':80')],
    ['an address of old C libraries', xff('0x7f.1')],
    ['an address with a zone', xff('fe80::1%eth0')],
    ['a claim before something that is no address', xff('203.0.113.7, garbage')],
    ['a claim before nothing', xff('203.0.113.7,')],
  ])('%s', (_what, headers) => {
    expect(callerOf('127.0.0.1', headers)).toBe('127.0.0.1');
  });

  test('what is no address between proxies ends with the last proxy that is known', () => {
    expect(callerOf('127.0.0.1', xff('203.0.113.7, garbage, 10.1.2.3'))).toBe('10.1.2.3');
  });

  test('a chain of more proxies than are allowed ends there', () => {
    const hops = Array.from({length: FORWARDED_HOPS_MAX + 5}, (_, i) => `10.0.0.${i}`);
    expect(callerOf('127.0.0.1', xff(`203.0.113.7, ${hops.join(', ')}`))).toBe('10.0.0.5');
  });
});

describe('Forwarded, where there is no X-Forwarded-For', () => {
  test.each([
    ['for alone', forwarded('for=203.0.113.7'), '203.0.113.7'],
    ['among others, in any case', forwarded('By=10.0.0.1;FOR=203.0.113.7;proto=https'), '203.0.113.7'],
    ['quoted IPv6 with its port', forwarded('for="[2001:db8::1]:4711"'), '2001:db8::1'],
    ['several', forwarded('for=1.1.1.1, for=203.0.113.7;proto=https, for=10.1.2.3'), '203.0.113.7'],
    ['an obfuscated one is nobody', forwarded('for=1.1.1.1, for=_hidden'), '127.0.0.1'],
    ['without for', forwarded('for=1.1.1.1, proto=https'), '127.0.0.1'],
    ['a quote that a client opened', forwarded('for="1.1.1.1', 'for=203.0.113.7'), '203.0.113.7'],
    ['… in the same line', forwarded('for="1.1.1.1, for=203.0.113.7'), '203.0.113.7'],
    ['X-Forwarded-For comes before it', [...forwarded('for=1.1.1.1'), ...xff('203.0.113.7')], '203.0.113.7'],
  ])('%s', (_what, headers, caller) => {
    expect(callerOf('127.0.0.1', headers)).toBe(caller);
  });
});

describe('a peer that is not trusted is its own address, whatever it sends', () => {
  test.each(['203.0.113.9', '127.0.0.2', '11.0.0.1', '2001:db8:ab::1'])('%s', peer => {
    const called = noted(peer, [...xff('1.1.1.1'), ...forwarded('for=1.1.1.1')]);
    expect(called).toEqual({address: peer, knownAddress: '', isFromProxy: false});
    expect(callers.believed(called)).toBe('none');
  });

  test('and without --trusted-proxy nobody is', () => {
    expect(noted('127.0.0.1', xff('1.1.1.1'), new Callers([], false)).knownAddress).toBe('');
  });

  test('also right after one that is', () => {
    expect([callerOf('127.0.0.1', xff('1.1.1.1')), callerOf('9.9.9.9', xff('1.1.1.1'))]).toEqual([
      '1.1.1.1',
      '9.9.9.9',
    ]);
    expect(callerOf('127.0.0.1', xff('1.1.1.1'))).toBe('1.1.1.1');
  });
});

test('as a plain reading of the list says, for any list', () => {
  const part = fc.oneof(
    fc.constantFrom('10.0.0.1', '10.7.7.7', '203.0.113.7', '198.51.100.2', '2001:db8::5', '2001:db8:aa::1'),
    fc.constantFrom('', 'unknown', '"', '1.2.3', '[::1', '10.0.0.1;x'),
  );
  const isProxy = (text: string) => text.startsWith('10.') || text.startsWith('2001:db8:aa:');
  const isAddress = (text: string) => /^(\d+\.\d+\.\d+\.\d+|2001:db8:.*)$/.test(text);
  fc.assert(
    fc.property(fc.array(part, {maxLength: 8}), fc.array(fc.boolean(), {maxLength: 8}), (hops, breaks) => {
      let model = '127.0.0.1';
      for (const hop of hops.toReversed()) {
        if (!isAddress(hop)) break;
        model = hop;
        if (!isProxy(hop)) break;
      }
      // However the list is cut into lines.
      const lines: string[] = [];
      for (const [i, hop] of hops.entries()) {
        if (lines.length > 0 && breaks[i] !== true) lines.push(`${lines.pop()!}, ${hop}`);
        else lines.push(hop);
      }
      expect(callerOf('127.0.0.1', xff(...lines))).toBe(model);
    }),
  );
});

test('a caller that is named again, after however many others, in however long a list', () => {
  const one = new Callers(TRUSTED, false);
  const address = (n: number) => `203.0.${n >> 8}.${n & 255}`;
  const long = `198.51.100.1, ${'x'.repeat(FORWARDED_KEPT_CHARS_MAX)}, 198.51.100.2`;
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < FORWARDED_LISTS_KEPT + 10; n++) {
      expect(callerOf('127.0.0.1', xff(`${address(n)}, 10.0.0.1`), one)).toBe(address(n));
    }
    // The same text says something else in the other header.
    expect(callerOf('127.0.0.1', xff('for=203.0.113.7'), one)).toBe('127.0.0.1');
    expect(callerOf('127.0.0.1', forwarded('for=203.0.113.7'), one)).toBe('203.0.113.7');
    expect(callerOf('127.0.0.1', xff(long), one)).toBe('198.51.100.2');
  }
});

test('a text is an address as the library has it, in canonical form', () => {
  const octet = fc.oneof(fc.nat({max: 300}).map(String), fc.constantFrom('', '01', '0x1', '00', '1e1', '-1', '٣'));
  const four = fc.array(octet, {minLength: 3, maxLength: 5}).map(octets => octets.join('.'));
  const text = fc.oneof(
    four,
    fc.ipV4(),
    fc.ipV6(),
    fc.string({maxLength: 20}),
    four.map(v4 => `::ffff:${v4}`),
  );
  fc.assert(
    fc.property(text, said => {
      const isCanonical = said.includes(':') ? ipaddr.IPv6.isValid(said) : ipaddr.IPv4.isValidFourPartDecimal(said);
      expect(parseAddress(said)?.toString() ?? null).toBe(isCanonical ? ipaddr.process(said).toString() : null);
    }),
  );
});

describe('the URL that the client asked for', () => {
  const HOST: Header = ['host', 'svc:3210'];
  const url = (believed: Parameters<typeof externalUrl>[1], ...headers: Header[]) =>
    externalUrl(request([HOST, ...headers], '/svc/t/http/x'), believed);

  test.each<[string, ReturnType<Callers['believed']>, Header[], string]>([
    [
      'a trusted proxy says all of it',
      'all',
      [
        ['x-forwarded-proto', 'https'],
        ['x-forwarded-host', 'a.test'],
      ],
      'https://a.test',
    ],
    ['… in its own words', 'all', forwarded('for=1.1.1.1;proto=https;host="a.test:8443"'), 'https://a.test:8443'],
    [
      '… the nearest one',
      'all',
      [
        ['x-forwarded-host', 'evil.test'],
        ['x-forwarded-host', 'x.test, a.test'],
      ],
      'http://a.test',
    ],
    ['… or none of it', 'all', [], 'http://svc:3210'],
    [
      'another peer says none',
      'none',
      [
        ['x-forwarded-proto', 'https'],
        ['x-forwarded-host', 'a.test'],
      ],
      'http://svc:3210',
    ],
    [
      'without --trusted-proxy the scheme',
      'scheme',
      [
        ['x-forwarded-proto', 'https'],
        ['x-forwarded-host', 'a.test'],
      ],
      'https://svc:3210',
    ],
  ])('%s', (_what, believed, headers, start) => {
    expect(url(believed, ...headers)).toBe(`${start}/svc/t/http/x`);
  });

  test('a host that is none is 400', () => {
    expect(() => url('all', ['x-forwarded-host', 'a/b'])).toThrowError(expect.objectContaining({status: 400}));
  });
});
