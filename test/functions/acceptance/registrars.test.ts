import {beforeAll, describe, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const FILES = {
  'a.ts': `
    import {v} from 'svc/values';
    import {internalQuery, mutation, paginatedQuery, query} from './_generated/server';
    export const f = internalQuery({args: {}, handler: () => 'secret'});
    export const write = mutation({args: {}, handler: ctx => ctx.db.insert('items', {n: 1})});
    export const plain = query({args: {}, handler: () => 1});
    export const pages = paginatedQuery({
      args: {},
      handler: (ctx, {paginationOpts}) => ctx.db.query('items').paginate(paginationOpts),
    });
    export const noPage = paginatedQuery({args: {}, handler: () => [] as never});
    export const constant = 7;
    export const helper = () => 8;`,
  'd/x.ts': `
    import {query} from '../_generated/server';
    export default query(() => 'by default');`,
};
const PAGE = {paginationOpts: {numItems: 1, cursor: null}};

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

describe('registrars and paths', () => {
  test('[13] an internal function and one that is not there look the same from outside', async () => {
    const internal = await app.queryError('a:f', {});
    const missing = await app.queryError('a:g', {});
    const withoutId = (text: string, path: string) => text.replace(/Request ID: [^\]]+/, '').replaceAll(path, 'PATH');
    expect(withoutId(internal, 'a:f')).toBe(withoutId(missing, 'a:g'));
    expect(internal).toContain("Could not find public function for 'a:f'");
  });

  test.each([
    'a:constant',
    'a:helper',
    'nowhere:f',
    'a',
    '',
    ':',
    'a:f:g',
    '__proto__:f',
    'a:__proto__',
    'a:constructor',
  ])('what is no public function is not found: %j', async path => {
    expect(await app.queryError(path, {})).toContain('Could not find public function');
  });

  test('[14] a default export answers under both names', async () => {
    expect(await app.query('d/x', {})).toBe('by default');
    expect(await app.query('d/x:default', {})).toBe('by default');
    expect(await app.query('d/x.js:default', {})).toBe('by default');
  });

  test('[15] the wrong kind says both kinds', async () => {
    expect(await app.queryError('a:write', {})).toContain(
      'Trying to execute a:write as Query, but it is defined as Mutation',
    );
    expect(await app.mutationError('a:plain', {})).toContain('as Mutation, but it is defined as Query');
    expect(await app.actionError('a:plain', {})).toContain('as Action, but it is defined as Query');
  });

  test('[16] a paginated query has an endpoint of its own', async () => {
    await app.mutation('a:write', {});
    expect(await app.queryError('a:pages', PAGE)).toContain('as Query, but it is defined as PaginatedQuery');
    expect(await app.paginated('a:pages', PAGE)).toMatchObject({page: [{n: 1}], isDone: false});
    expect(await app.paginatedError('a:plain', PAGE)).toContain('as PaginatedQuery, but it is defined as Query');
  });

  test('[17] a paginated query returns a page', async () => {
    expect(await app.paginatedError('a:noPage', PAGE)).toContain('must return a PaginationResult');
  });

  test('the admin runs any function, internal ones too, as anybody', async () => {
    const run = (path: string, more = {}) => app.admin('POST', '/functions/run', {path, args: {}, ...more});
    expect((await run('a:f')).body).toEqual({status: 'success', value: 'secret'});
    expect((await run('a:plain')).body).toEqual({status: 'success', value: 1});
  });
});
