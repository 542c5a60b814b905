/** The packed package in an app's own folder, with nothing else installed: it type-checks and runs. */
import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc');

const APP = `
import {anyApi, type DataModelFromSchemaDefinition, defineSchema, defineTable, getFunctionName, type GenericQueryCtx, httpRouter, paginationOptsValidator, queryGeneric} from 'svc/server';
import {type Id, type Infer, v} from 'svc/values';

const schema = defineSchema({users: defineTable({name: v.string(), age: v.optional(v.number())}).index('by_name', ['name'])});
type DataModel = DataModelFromSchemaDefinition<typeof schema>;

export async function oldest({db}: GenericQueryCtx<DataModel>, id: Id<'users'>): Promise<number | undefined> {
  const user = await db.query('users').withIndex('by_name', q => q.eq('name', 'a')).first();
  // @ts-expect-error no such field
  user?.other;
  return (await db.get(id))?.age;
}
const fields: Infer<typeof paginationOptsValidator> = {numItems: 1, cursor: null};
const list = queryGeneric({args: {id: v.id('users')}, handler: (_ctx, args) => args.id.length});
// @ts-expect-error not supported
v.int64;

console.log(JSON.stringify([
  getFunctionName(anyApi.users!.list!), list.kind, JSON.parse(list.exportArgs()).type, httpRouter().getRoutes(), fields.numItems,
  JSON.parse(schema.export()).tables.length,
]));
`;

describe('the packed package', () => {
  let app: string;
  beforeAll(() => {
    app = mkdtempSync(join(tmpdir(), 'svc-app-'));
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', app], {cwd: root});
    const archive = readdirSync(app).find(name => name.endsWith('.tgz'))!;
    mkdirSync(join(app, 'node_modules'));
    execFileSync('tar', ['-xzf', join(app, archive), '-C', join(app, 'node_modules')]);
    execFileSync('mv', [join(app, 'node_modules/package'), join(app, 'node_modules/svc')]);
    writeFileSync(join(app, 'package.json'), '{"type": "module"}');
    writeFileSync(join(app, 'app.ts'), APP);
  });
  afterAll(() => rmSync(app, {recursive: true}));

  function run(command: string[]): string {
    try {
      return execFileSync(process.execPath, command, {cwd: app, encoding: 'utf8'});
    } catch (failure) {
      throw new Error((failure as {stdout: string}).stdout, {cause: failure});
    }
  }

  test.each([
    ['esnext', 'bundler'],
    ['nodenext', 'nodenext'],
  ])('type-checks with module %s, resolution %s, and its declarations too', (module, resolution) => {
    const options = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022,dom', '--types', ''];
    const output = run([compiler, ...options, '--module', module, '--moduleResolution', resolution, 'app.ts']);
    expect(output).toBe('');
  });

  test('runs, with no other package there', () => {
    expect(JSON.parse(run(['--experimental-strip-types', '--no-warnings', 'app.ts']))).toEqual([
      'users:list',
      'query',
      'object',
      [],
      1,
      1,
    ]);
  });

  test('names that other platforms export fail when they are called', () => {
    const script =
      "const {cronJobs} = await import('svc/server'); try { cronJobs() } catch (e) { console.log(e.message) }";
    expect(run(['--input-type=module', '-e', script])).toContain('cronJobs is not supported');
  });
});
