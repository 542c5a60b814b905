import {describe, expect, test} from 'vitest';
import {EgressPolicy} from '../../../egress/policy.ts';
import {checkEgressPattern} from '../../../shared/egress/pattern.ts';

const PUBLIC = '93.184.216.34';

function allows(allow: string[], hostname: string, port: number, address: string, deny: string[] = []): boolean {
  return EgressPolicy.of({allow, deny}, () => Promise.resolve([])).check(hostname, port, address) === null;
}

describe('by default', () => {
  test.each([
    PUBLIC,
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '223.255.255.254',
    '2606:4700:4700::1111',
    '2a00:1450:4001:81b::200e',
    '64:ff9b::5db8:d822',
    '::ffff:93.184.216.34',
  ])('%s is open', address => {
    expect(allows([], 'x.example', 443, address)).toBe(true);
  });

  test.each([
    ['127.0.0.1', 'a loopback'],
    ['127.255.255.254', 'a loopback'],
    ['::1', 'a loopback'],
    ['0.0.0.0', 'an unspecified'],
    ['0.1.2.3', 'an unspecified'],
    ['::', 'an unspecified'],
    ['10.0.0.1', 'a private'],
    ['172.16.0.1', 'a private'],
    ['172.31.255.255', 'a private'],
    ['192.168.1.1', 'a private'],
    ['fc00::1', 'a private'],
    ['fd12::1', 'a private'],
    ['fec0::1', 'a private'],
    ['169.254.1.1', 'a link-local'],
    ['fe80::1', 'a link-local'],
    ['fe80::1%eth0', 'a link-local'],
    ['100.64.0.1', 'a carrier-grade NAT'],
    ['100.127.255.255', 'a carrier-grade NAT'],
    ['224.0.0.1', 'a multicast'],
    ['239.255.255.255', 'a multicast'],
    ['ff02::1', 'a multicast'],
    ['255.255.255.255', 'a broadcast'],
    ['192.0.2.1', 'a reserved'],
    ['198.51.100.1', 'a reserved'],
    ['203.0.113.1', 'a reserved'],
    ['198.18.0.1', 'a reserved'],
    ['240.0.0.1', 'a reserved'],
    ['2001:db8::1', 'a reserved'],
    ['100::1', 'a reserved'],
    ['4000::1', 'a reserved'],
    ['169.254.169.254', 'a cloud metadata'],
    ['fd00:ec2::254', 'a cloud metadata'],
    ['168.63.129.16', 'a cloud metadata'],
    // The same places inside IPv6 addresses: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP.
    ['::ffff:127.0.0.1', 'a loopback'],
    ['::ffff:7f00:1', 'a loopback'],
    ['::ffff:169.254.169.254', 'a cloud metadata'],
    ['::127.0.0.1', 'a loopback'],
    ['::ffff:0:10.0.0.1', 'a private'],
    ['64:ff9b::10.0.0.1', 'a private'],
    ['64:ff9b::169.254.169.254', 'a cloud metadata'],
    ['64:ff9b:1::10.0.0.1', 'a private'],
    ['64:ff9b:1::5db8:d822', 'a reserved'],
    ['2002:7f00:1::', 'a loopback'],
    ['2002:a9fe:a9fe::', 'a cloud metadata'],
    ['2002:5db8:d822::', 'a reserved'],
    ['2001:0:4136:e378:8000:63bf:80ff:fffe', 'a loopback'],
    ['2a00:1450::5efe:10.0.0.1', 'a private'],
    ['2a00:1450::200:5efe:a00:1', 'a private'],
  ])('%s is closed: it is %s address', (address, reason) => {
    expect(EgressPolicy.of({allow: [], deny: []}, () => Promise.resolve([])).check('x.example', 80, address)).toMatch(
      new RegExp(`^Connection to x\\.example:80 refused by the tenant's egress policy: .* is ${reason} address$`),
    );
  });

  test.each(['', 'x', '1.2.3', '0x7f.1', '010.0.0.1', '2130706433', '1.2.3.4:80', '[::1]x'])(
    '%j is no address',
    address => {
      expect(allows(['0.0.0.0/0', '::/0'], 'x', 80, address)).toBe(false);
    },
  );
});

describe('an address of this machine is closed, public as it is,', () => {
  const own = new Set([PUBLIC, '2606:4700::2', '10.0.0.7']);
  const why = (allow: string[], address: string, deny: string[] = []) =>
    EgressPolicy.of(
      {allow, deny},
      () => Promise.resolve([]),
      () => own,
    ).check('me.example', 80, address);

  test.each([PUBLIC, `::ffff:${PUBLIC}`, '64:ff9b::5db8:d822', '2606:4700::2', '2606:4700::2%lo'])('as %s', address => {
    expect(why([], address)).toMatch(/is an address of this machine$/);
    expect(why(['me.example', '*.example'], address)).toMatch(/is an address of this machine$/);
  });

  test('unless an address in the allow list opens it; others stay open', () => {
    expect(why([`${PUBLIC}:80`], PUBLIC)).toBeNull();
    expect(why(['2606:4700::/32'], '2606:4700::2')).toBeNull();
    expect(why([`${PUBLIC}:80`], PUBLIC, [PUBLIC])).toMatch(/is denied$/);
    expect(why([], '93.184.216.35')).toBeNull();
  });

  test('a private one is opened by its name as before', () => {
    expect(why(['me.example'], '10.0.0.7')).toBeNull();
    expect(why([], '10.0.0.7')).toMatch(/is a private address$/);
  });
});

describe('entries', () => {
  const CASES: [entry: string, hostname: string, port: number, address: string, opens: boolean][] = [
    ['127.0.0.1', '127.0.0.1', 80, '127.0.0.1', true],
    ['127.0.0.1', 'any.name', 80, '127.0.0.1', true],
    ['127.0.0.1', '127.0.0.2', 80, '127.0.0.2', false],
    ['127.0.0.1:9000', '127.0.0.1', 9000, '127.0.0.1', true],
    ['127.0.0.1:9000', '127.0.0.1', 9001, '127.0.0.1', false],
    ['127.0.0.1:9000', 'any.name', 9000, '::ffff:127.0.0.1', true],
    ['[::1]:80', '[::1]', 80, '::1', true],
    ['[::1]:80', '[::1]', 81, '::1', false],
    ['[::1]', 'localhost', 81, '::1', true],
    ['::1', 'localhost', 81, '::1', true],
    ['::1', 'localhost', 81, '127.0.0.1', false],
    ['10.0.0.0/8', 'x', 1, '10.255.0.1', true],
    ['10.0.0.0/8', 'x', 1, '11.0.0.1', true],
    ['10.0.0.0/8', 'x', 1, '192.168.0.1', false],
    ['::ffff:10.0.0.0/104', 'x', 1, '10.1.1.1', true],
    ['::ffff:10.0.0.0/104', 'x', 1, '172.16.0.1', false],
    ['fd00::/8', 'x', 1, 'fd12::1', true],
    ['internal.example', 'internal.example', 80, '10.0.0.1', true],
    ['internal.example', 'INTERNAL.example.', 80, '10.0.0.1', true],
    ['internal.example', 'x.internal.example', 80, '10.0.0.1', false],
    ['internal.example:80', 'internal.example', 81, '10.0.0.1', false],
    ['*.internal.example', 'a.b.internal.example', 80, '10.0.0.1', true],
    ['*.internal.example', 'internal.example', 80, '10.0.0.1', false],
    ['*.internal.example', 'notinternal.example', 80, '10.0.0.1', false],
    ['*.internal.example:80', 'a.internal.example', 80, '10.0.0.1', true],
    ['*.internal.example:80', 'a.internal.example', 443, '10.0.0.1', false],
    ['bücher.example', 'xn--bcher-kva.example', 80, '10.0.0.1', true],
    // A name's owner chooses its addresses: credentials of the machine need the address itself.
    ['internal.example', 'internal.example', 80, '169.254.169.254', false],
    ['internal.example', 'internal.example', 80, 'fd00:ec2::254', false],
    ['internal.example', 'internal.example', 80, '64:ff9b::169.254.169.254', false],
    ['169.254.169.254', 'internal.example', 80, '169.254.169.254', true],
  ];
  test.each(CASES)('%s, asked for %s:%i at %s: open is %s', (entry, hostname, port, address, opens) => {
    expect(checkEgressPattern(entry)).toBeNull();
    expect(allows([entry], hostname, port, address)).toBe(opens);
  });

  test.each([
    ['93.184.216.0/24', 'x.example', PUBLIC],
    ['93.184.216.0/24', 'x.example', '64:ff9b::5db8:d822'],
    ['93.184.216.0/24', 'x.example', '::ffff:5db8:d822'],
    ['x.example', 'x.example', PUBLIC],
    ['x.example:443', 'X.EXAMPLE.', PUBLIC],
    ['*.example', 'x.example', PUBLIC],
    ['0.0.0.0/0', 'x.example', PUBLIC],
  ])('deny %s closes %s at %s, and wins over allow', (entry, hostname, address) => {
    expect(allows([], hostname, 443, address)).toBe(true);
    expect(allows([], hostname, 443, address, [entry])).toBe(false);
    expect(allows([entry, address.includes(':') ? '::/0' : '0.0.0.0/0'], hostname, 443, address, [entry])).toBe(false);
  });

  test.each([
    '',
    '*',
    '*.',
    '*x.example',
    'a.*.example',
    'x.example:',
    'x.example:0',
    'x.example:65536',
    'x.example:http',
    'http://x.example',
    'x.example/path',
    'user@x.example',
    'x example',
    'x..example',
    '-',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8:80',
    '::/129',
    '::ffff:10.0.0.0/8',
    '0x7f.1',
    '010.0.0.1',
    '2130706433',
    '1.2.3',
    '*.1.2.3.4',
    '[::1',
    '[x.example]',
    '[::1]:99999',
    'x'.repeat(263),
  ])('%j is refused with an explanation', entry => {
    expect(checkEgressPattern(entry)).toEqual(expect.any(String));
  });
});
