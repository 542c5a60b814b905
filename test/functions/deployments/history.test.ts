import {Buffer} from 'node:buffer';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import type {DeploymentUpload, SchemaDefinition} from '../../../shared/protocol/functions.ts';
import {DEPLOYMENTS_KEEP, DEPLOYS_WAITING_MAX} from '../../../worker/functions/limits.ts';
import {EMPTY_UPLOAD, errorsOf, refusalOf, TenantDeployments} from './tenant-deployments.ts';

const NOTHING = {functions: [], routes: null, schema: null, authProviders: []};

function upload(change: Partial<DeploymentUpload>): DeploymentUpload {
  return {...EMPTY_UPLOAD, ...change};
}

function withFiles(...sources: string[]): DeploymentUpload {
  return upload({files: sources.map((source, i) => ({path: `f${i}.js`, source, sourceMap: null}))});
}

function saying(schema: SchemaDefinition | null = null): TenantDeployments {
  const tenant = new TenantDeployments();
  tenant.manifest = {...NOTHING, schema};
  return tenant;
}

function numbers(type: 'number' | 'string'): SchemaDefinition {
  const document = {type: 'object', value: {n: {fieldType: {type}, optional: false}}} as const;
  return {tables: [{name: 'items', document, indexes: []}], schemaValidation: true};
}

describe('a deployment', () => {
  test('is answered as it will be listed, and the journal has its activation', async () => {
    const tenant = saying();
    const reply = await tenant.upload(upload({message: 'the first', modifiedMs: 123.7}));
    const {changes, ...view} = reply;
    expect(changes).toEqual({tables: {declared: [], undeclared: []}, indexes: {added: [], dropped: []}});
    expect(view).toEqual({
      id: 1,
      created_at: expect.any(Number),
      activated_at: expect.any(Number),
      active: true,
      message: 'the first',
      development: false,
      functions: 0,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(tenant.list()).toEqual([view]);
    const {active: _, functions: __, ...named} = view as Record<string, unknown>;
    expect(tenant.events()).toEqual([
      {type: 'deployment.activated', id: '1', deployment: {...named, files: expect.any(Array)}},
    ]);
    expect(tenant.deployments.active).toMatchObject({
      id: 1,
      timestampMs: 123,
      seed: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  test('has the hash of another one exactly when all its files are the same', async () => {
    const tenant = saying();
    for (const sources of [
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'c'],
      ['b', 'a'],
    ])
      await tenant.upload(withFiles(...sources));
    const [fourth, third, second, first] = tenant.list().map(({hash}) => hash);
    expect(second).toBe(first);
    expect(new Set([first, third, fourth]).size).toBe(3);
  });

  test('draws another seed although its files are the same', async () => {
    const tenant = saying();
    await tenant.upload(withFiles('a'));
    const {seed} = tenant.deployments.active!;
    await tenant.upload(withFiles('a'));
    expect(tenant.deployments.active!.seed).not.toBe(seed);
  });

  test('serves the writes behind it in its group; taken back with them, it is as if it had not been', async () => {
    const tenant = saying();
    const {deployments, groups, writer} = tenant;
    await tenant.upload(upload({}));
    let behind: Promise<void> | null = null;
    let seenBehind: number | undefined;
    // However slow the machine is, a group ends with its queue.
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => now.mockRestore());
    const {event} = writer;
    vi.spyOn(writer, 'event').mockImplementation(activated => {
      event.call(writer, activated);
      if (activated.type !== 'deployment.activated') return;
      behind ??= groups.perform(() => {
        seenBehind = deployments.active?.id;
        for (let i = 0; i < 1_000; i++)
          writer.insert(writer.table('items'), {}, JSON.stringify({s: 'x'.repeat(1_000)}));
      });
    });
    const pages = writer.db.pragma('page_count', {simple: true}) as number;
    writer.db.pragma(`max_page_count = ${pages + 20}`);
    expect((await refusalOf(tenant.upload(upload({})))).code).toBe('session.storage_full');
    await expect(behind).rejects.toMatchObject({code: 'session.storage_full'});
    expect({seenBehind, active: deployments.active?.id}).toEqual({seenBehind: 2, active: 1});

    writer.db.pragma(`max_page_count = ${1 << 30}`);
    await tenant.upload(upload({}));
    // What was kept in memory for the one that was taken back is never taken for another's.
    expect(deployments.active?.id).toBe(3);
  });

  test('is there again after the process was killed', async () => {
    const tenant = saying();
    await tenant.upload(withFiles('a'));
    await tenant.upload(withFiles('b'));
    await tenant.deployments.activate('1');
    const next = await tenant.killed();
    expect(next.deployments.active).toEqual(tenant.deployments.active);
    expect(next.list()).toEqual(tenant.list());
  });
});

describe('going back to a deployment', () => {
  test('makes it the active one again, with its own schema', async () => {
    const tenant = saying(numbers('number'));
    await tenant.upload(upload({}));
    await tenant.deploySchema(null);
    const reply = await tenant.deployments.activate('1');
    expect(reply).toMatchObject({id: 1, active: true});
    expect((await refusalOf(tenant.insert('items', {n: 'text'}))).code).toBe('op.schema_violation');
    expect(tenant.list().map(({id, active}) => [id, active])).toEqual([
      [2, false],
      [1, true],
    ]);
    const activated = tenant.list().map(deployment => deployment.activated_at!);
    expect(activated[1]).toBeGreaterThan(activated[0]!);
  });

  test('is refused when documents written since violate its schema, and nothing changes', async () => {
    const tenant = saying(numbers('number'));
    await tenant.upload(upload({}));
    await tenant.deploySchema(null);
    const id = await tenant.insert('items', {n: 'text'});
    const [refused] = await errorsOf(tenant.deployments.activate('1'));
    expect(refused).toMatchObject({file: 'svc/schema', message: expect.stringContaining(id)});
    expect(tenant.deployments.active?.id).toBe(2);
  });

  test.each(['99', '0', '-1', 'abc', '1e0', '', '1'.repeat(400)])('that is none, %j, is 404', async id => {
    const tenant = saying();
    await tenant.upload(upload({}));
    expect((await refusalOf(tenant.deployments.activate(id))).code).toBe('op.not_found');
  });
});

describe('the history', () => {
  test('keeps the newest deployments, what serves or did so just now, and the code of these alone', async () => {
    const tenant = saying();
    await tenant.upload(withFiles('first'));
    for (let i = 0; i < DEPLOYMENTS_KEEP; i++) {
      await tenant.upload(withFiles(`source ${i}`, 'common'));
      await tenant.deployments.activate('1');
    }
    const ids = () => tenant.list().map(({id}) => id);
    const sources = () => tenant.count('SELECT count(*) FROM code');
    expect(ids()).toHaveLength(DEPLOYMENTS_KEEP + 1);
    expect(ids().at(-1)).toBe(1);
    expect(sources()).toBe(DEPLOYMENTS_KEEP + 2);

    await tenant.upload(withFiles('next', 'common'));
    expect(ids().at(-1)).toBe(1);
    await tenant.upload(withFiles('last', 'common'));
    expect(ids()).toHaveLength(DEPLOYMENTS_KEEP);
    expect(ids()).not.toContain(1);
    expect(sources()).toBe(DEPLOYMENTS_KEEP + 1);
  });
});

describe('deployments made while developing', () => {
  test('are forgotten before others, however many saves there are', async () => {
    const tenant = saying();
    await tenant.upload(withFiles('production 1'));
    await tenant.upload(withFiles('production 2'));
    for (let i = 0; i < DEPLOYMENTS_KEEP + 5; i++) {
      await tenant.upload({...withFiles(`save ${i}`), development: true});
    }
    const kept = tenant.list();
    expect(kept).toHaveLength(DEPLOYMENTS_KEEP);
    expect(kept.filter(({development}) => !development).map(({id}) => id)).toEqual([2, 1]);
    expect(kept[0]).toMatchObject({active: true, development: true});
    await tenant.deployments.activate('1');
    expect(tenant.list().find(({active}) => active)?.id).toBe(1);
  });

  test('leave when only others fill the history', async () => {
    const tenant = saying();
    await tenant.upload({...withFiles('save'), development: true});
    for (let i = 0; i < DEPLOYMENTS_KEEP; i++) await tenant.upload(withFiles(`production ${i}`));
    expect(tenant.list().some(({development}) => development)).toBe(false);
    expect(tenant.list()).toHaveLength(DEPLOYMENTS_KEEP);
  });
});

describe('a deploy says what it changes', () => {
  const text = {type: 'object' as const, value: {n: {fieldType: {type: 'string' as const}, optional: true}}};
  const table = (name: string, ...indexes: string[][]) => ({
    name,
    document: text,
    indexes: indexes.map(fields => ({name: `by_${fields.join('_')}`, fields})),
  });
  const schemaOf = (...tables: ReturnType<typeof table>[]) => ({tables, schemaValidation: true});
  const changesOf = async (deploy: Promise<{changes: unknown}>) => (await deploy).changes;

  test('tables and indexes, added and dropped; a dry run as well, and it changes nothing', async () => {
    const tenant = saying();
    const none = {tables: {declared: [], undeclared: []}, indexes: {added: [], dropped: []}};
    expect(await changesOf(tenant.deploySchema(null))).toEqual(none);
    expect(await changesOf(tenant.deploySchema(schemaOf(table('b', ['n']), table('a'))))).toEqual({
      tables: {declared: ['a', 'b'], undeclared: []},
      indexes: {added: ['b.by_n (n)'], dropped: []},
    });
    expect(await changesOf(tenant.deploySchema(schemaOf(table('b', ['n']), table('a'))))).toEqual(none);
    const next = {
      tables: {declared: ['c'], undeclared: ['a']},
      indexes: {added: ['b.by_n_m (n, m)'], dropped: ['b.by_n (n)']},
    };
    tenant.manifest = {...NOTHING, schema: schemaOf(table('b', ['n', 'm']), table('c'))};
    expect(await changesOf(tenant.upload(upload({dryRun: true})))).toEqual(next);
    expect(tenant.indexes('b')).toEqual(['by_n: n (enabled)']);
    expect(await changesOf(tenant.upload(upload({})))).toEqual(next);
    expect(await changesOf(tenant.deploySchema(null))).toEqual({
      tables: {declared: [], undeclared: ['b', 'c']},
      indexes: {added: [], dropped: ['b.by_n_m (n, m)']},
    });
  });
});

describe('an upload is refused before its code runs', () => {
  const big = 'x'.repeat(17 * 1024 * 1024);
  test.each<[string, Partial<DeploymentUpload>, string[]]>([
    [
      'a path that no function can have',
      {modules: ['my-module'], files: [file('my-module.js')]},
      ['can only contain alphanumeric characters, underscores, or periods'],
    ],
    [
      'a path component that is too long',
      {modules: ['m'.repeat(65)], files: [file(`${'m'.repeat(65)}.js`)]},
      ['at most 64'],
    ],
    [
      'modules without a file',
      {modules: ['a'], schema: 'schema', authConfig: 'auth.config'},
      ['the module a', 'the module schema', 'the module auth.config'],
    ],
    ['two files of one path', {files: [file('a.js'), file('a.js')]}, ['two files with the same path']],
    [
      'a module for a runtime that is not there, by its name',
      {modules: ['a', 'b'], files: [file('a.js'), file('b.js')], runtimes: {a: 'bun'}},
      ['"use bun": this server has no Bun runtime adapter'],
    ],
    [
      'modules for Node without its version',
      {modules: ['b'], files: [file('b.js')], runtimes: {b: 'node'}},
      ['"use node": the upload says no version of Node'],
    ],
    [
      'a module for Node that was bundled for the default runtime',
      {modules: ['a'], files: [file('a.js', '"use node";\nexport const x = 1;\n')]},
      ['"use node": the upload gives this module to the default runtime'],
    ],
    [
      'routes for Node',
      {modules: ['http'], files: [file('http.js')], runtimes: {http: 'node'}, node: {version: '22'}},
      ['"use node": HTTP routes, crons, schemas and auth configs run in the default runtime'],
    ],
    [
      'a version of Node that is none of those there are',
      {modules: ['b'], files: [file('b.js')], runtimes: {b: 'node'}, node: {version: '18' as never}},
      ['"node.nodeVersion" must be one of "20", "22", "24", "26", not "18"'],
    ],
    [
      'a module for a runtime that is not there, by its code',
      {modules: ['a'], files: [file('a.js', '/* made by another tool */\n"use bun";\nexport const x = 1;\n')]},
      ['"use bun": this server has no Bun runtime adapter'],
    ],
    [
      'a runtime for what is no module',
      {modules: ['a'], files: [file('a.js')], runtimes: {other: 'default'}},
      ['a runtime is given for other, which is no module'],
    ],
    ['a module twice', {modules: ['a', 'a'], files: [file('a.js')]}, ['a module is named twice']],
    [
      'too much code',
      {files: [file('a.js', big), file('b.js', big)]},
      ['the code takes 34.0 MiB; the limit is 32 MiB'],
    ],
    [
      'code whose bytes are more than its characters',
      {files: [file('a.js', '€'.repeat(12 * 1024 * 1024))]},
      ['the code takes 36.0 MiB'],
    ],
  ])('%s', async (_, change, messages) => {
    const errors = await errorsOf(saying().upload(upload(change)));
    expect(errors.map(({message}) => message)).toEqual(messages.map(message => expect.stringContaining(message)));
  });

  test('with what is wrong of its shape', async () => {
    const {deployments} = saying();
    const refused = await refusalOf(deployments.upload(Buffer.from('{"files": "none"}'), {kind: 'api'}));
    expect(refused).toMatchObject({code: 'op.invalid_input', detail: undefined});
  });

  test('when too many wait', async () => {
    const tenant = saying();
    const uploads = Array.from({length: DEPLOYS_WAITING_MAX + 2}, () => tenant.upload(upload({})));
    const outcomes = await Promise.allSettled(uploads);
    expect(outcomes.map(({status}) => status)).toEqual([
      ...Array.from({length: DEPLOYS_WAITING_MAX + 1}, () => 'fulfilled'),
      'rejected',
    ]);
    expect(await tenant.upload(upload({}))).toMatchObject({active: true});
  });
});

function file(path: string, source = '') {
  return {path, source, sourceMap: null};
}
