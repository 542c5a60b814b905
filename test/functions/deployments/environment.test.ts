import {describe, expect, test, vi} from 'vitest';
import type {TenantFunctionSettings} from '../../../engine/storage/stored-settings.ts';
import {ENVIRONMENT_NAME_CHARS_MAX, ENVIRONMENT_VALUE_BYTES_MAX} from '../../../shared/limits.ts';
import {ENVIRONMENT_VARIABLES_MAX} from '../../../worker/runtime/limits.ts';
import {nightly} from '../../harness/nightly.ts';
import {refusalOf, TenantDeployments} from './tenant-deployments.ts';

describe('environment variables', () => {
  test('are set, read, listed by name and deleted', async () => {
    const {environment} = new TenantDeployments();
    await environment.set('B', 'two');
    await environment.set('A_1', '');
    await environment.set('B', 'three');
    expect(environment.get('B')).toBe('three');
    expect(environment.get('A_1')).toBe('');
    expect(Object.entries(environment.current)).toEqual([
      ['A_1', ''],
      ['B', 'three'],
    ]);
    await environment.delete('B');
    expect(Object.entries(environment.current)).toEqual([['A_1', '']]);
    expect((await refusalOf(environment.delete('B'))).code).toBe('op.not_found');
    expect(() => environment.get('B')).toThrow('"B" is not set');
  });

  test('that have the names of what every object has are like any other', async () => {
    const {environment} = new TenantDeployments();
    expect(() => environment.get('constructor')).toThrow('is not set');
    await environment.set('constructor', 'mine');
    expect(environment.current.constructor).toBe('mine');
  });

  test('are in the journal by name, never by value', async () => {
    const tenant = new TenantDeployments();
    await tenant.environment.set('KEY', 'top-secret');
    await tenant.environment.delete('KEY');
    expect(tenant.events()).toEqual([
      {type: 'environment.set', name: 'KEY'},
      {type: 'environment.deleted', name: 'KEY'},
    ]);
    expect(tenant.journal()).not.toContain('top-secret');
  });

  test('do not change under an execution that began with them', async () => {
    const {environment} = new TenantDeployments();
    await environment.set('A', 'before');
    const {current} = environment;
    await environment.set('A', 'after');
    expect([current.A, environment.current.A]).toEqual(['before', 'after']);
  });

  test('are there after the process was killed', async () => {
    const tenant = new TenantDeployments();
    await tenant.environment.set('A', 'ä\n"');
    expect((await tenant.killed()).environment.current.A).toBe('ä\n"');
  });

  test.each(['', '1A', '_A', 'A-B', 'A B', 'Ä', 'A'.repeat(ENVIRONMENT_NAME_CHARS_MAX + 1)])(
    'are not called %j',
    async name => {
      const {environment} = new TenantDeployments();
      expect((await refusalOf(environment.set(name, ''))).code).toBe('op.invalid_input');
    },
  );

  test.each([
    ['longer than the limit', 'x'.repeat(ENVIRONMENT_VALUE_BYTES_MAX + 1)],
    ['longer than the limit in bytes', 'ä'.repeat(ENVIRONMENT_VALUE_BYTES_MAX / 2 + 1)],
    ['no text that can be stored', '\ud800'],
  ])('have no value that is %s', async (_, value) => {
    const {environment} = new TenantDeployments();
    expect((await refusalOf(environment.set('A', value))).code).toBe('op.invalid_input');
  });

  test('may be as long as the limits say', async () => {
    const {environment} = new TenantDeployments();
    const name = 'A'.repeat(ENVIRONMENT_NAME_CHARS_MAX);
    await environment.set(name, 'ä'.repeat(ENVIRONMENT_VALUE_BYTES_MAX / 2));
    expect(environment.current[name]).toHaveLength(ENVIRONMENT_VALUE_BYTES_MAX / 2);
  });

  nightly.test(
    'are limited in number, also when many are set at once; those that are there can be changed',
    async () => {
      const {environment} = new TenantDeployments();
      const names = Array.from({length: ENVIRONMENT_VARIABLES_MAX + 1}, (_, i) => `V${i}`);
      const outcomes = await Promise.allSettled(names.map(name => environment.set(name, '')));
      const refused = outcomes.filter(({status}) => status === 'rejected');
      expect(refused).toMatchObject([{reason: {code: 'op.rate_limited'}}]);
      await environment.set('V0', 'changed');
      expect(environment.current.V0).toBe('changed');
    },
  );
});

describe('settings', () => {
  const WORD = {body: '', signedGrant: ''};
  const DEFAULT = {egress: {allow: [], deny: []}, allowed_origins: null};

  test('allow nothing in particular until they are set, and change member by member', async () => {
    const tenant = new TenantDeployments();
    const {settings} = tenant;
    const changed = vi.spyOn(settings, 'changed');
    expect(settings.current).toEqual(DEFAULT);
    const wanted = {
      egress: {allow: ['127.0.0.1:8080'], deny: ['*.example.com']},
      allowed_origins: ['https://app.example', 'http://localhost:3000'],
    };
    await settings.put({...wanted, more: 1} as typeof wanted, WORD);
    expect(settings.current).toEqual(wanted);
    expect((await tenant.killed()).settings.current).toEqual(wanted);
    await settings.put({egress: DEFAULT.egress}, WORD);
    expect(settings.current).toEqual({...wanted, egress: DEFAULT.egress});
    await settings.put({allowed_origins: null}, WORD);
    expect(settings.current).toEqual(DEFAULT);
    expect(changed).toHaveBeenCalledTimes(3);
    expect(tenant.events()).toEqual([
      {type: 'settings.changed', settings: wanted},
      {type: 'settings.changed', settings: {...wanted, egress: DEFAULT.egress}},
      {type: 'settings.changed', settings: DEFAULT},
    ]);
  });

  test.each<[string, TenantFunctionSettings]>([
    ['a pattern that is none', {...DEFAULT, egress: {allow: ['http://a.example/path'], deny: []}}],
    ['an origin with a path', {...DEFAULT, allowed_origins: ['https://app.example/']}],
    ['an origin that is none', {...DEFAULT, allowed_origins: ['*']}],
  ])('are refused with %s', async (_, value) => {
    const {settings} = new TenantDeployments();
    expect((await refusalOf(settings.put(value, WORD))).code).toBe('op.invalid_input');
    expect(settings.current).toEqual(DEFAULT);
  });
});
