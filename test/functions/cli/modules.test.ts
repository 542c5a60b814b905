/** Which files below `svc/` are modules, and which of their names are refused. */
import {symlinkSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {findModules} from '../../../cli/project/modules.ts';
import {readProject} from '../../../cli/project/project-file.ts';
import {errorsOf, projectDirectory, projectOf} from './project.ts';

const MODULE = 'export const x = 1;\n';

async function pathsOf(files: Record<string, string>): Promise<string[]> {
  const {functions} = await findModules(await projectOf(files));
  return functions.map(({path}) => path);
}

function refusalOf(...names: string[]) {
  const files = Object.fromEntries(names.map(name => [name, MODULE]));
  return errorsOf(projectOf(files).then(findModules));
}

describe('modules', () => {
  test('[69] tests, hidden files, names with a blank, generated code and declarations are none', async () => {
    const files = ['a.test.ts', '.x.ts', 'b c.ts', '_generated/z.ts', 'types.d.ts'];
    expect(await pathsOf(Object.fromEntries(files.map(name => [name, MODULE])))).toEqual([]);
  });

  test.each(['js', 'mjs', 'cjs', 'jsx', 'ts', 'tsx', 'mts', 'cts'])('a .%s file is one', async extension => {
    expect(await pathsOf({[`m.${extension}`]: MODULE})).toEqual(['m']);
  });

  test.each([
    ['#draft.ts', MODULE],
    ['a/.hidden/m.ts', MODULE],
    ['a b/m.ts', MODULE],
    ['readme.md', MODULE],
    ['data.json', '{}'],
    ['wasm.txt', MODULE],
    ['node_modules/p/index.js', MODULE],
    ['globals.ts', 'const notAModule = 1; // this has no import\n'],
  ])('%s is none', async (name, source) => {
    expect(await pathsOf({[name]: source, 'm.ts': MODULE})).toEqual(['m']);
  });

  test.each([
    ["import './other';\n"],
    ["import'./other';\n"],
    ['const y = 1; export {y};\n'],
    ['/* why */ export default 1;\n'],
    ['\n\n  export const z = 1;\n'],
  ])('a .ts file with %j is one', async source => {
    expect(await pathsOf({'m.ts': source})).toEqual(['m']);
  });

  test('they are in code unit order of their paths, folders included', async () => {
    const files = {'b.ts': MODULE, 'a/z.ts': MODULE, 'a.ts': MODULE, 'B.ts': MODULE, 'a/b/c.js': MODULE};
    expect(await pathsOf(files)).toEqual(['B', 'a', 'a/b/c', 'a/z', 'b']);
  });

  test('generated code and the schema are those of the top directory only', async () => {
    const modules = await findModules(
      await projectOf({'schema.ts': MODULE, 'a/schema.ts': MODULE, 'a/_generated/z.ts': MODULE}),
    );
    expect(modules.functions.map(({path}) => path)).toEqual(['a/_generated/z', 'a/schema']);
    expect(modules.schema).toEqual({path: 'schema', file: 'svc/schema.ts'});
  });

  test('the auth config is found, though its name has two dots', async () => {
    const {authConfig, functions} = await findModules(await projectOf({'auth.config.js': MODULE}));
    expect(authConfig).toEqual({path: 'auth.config', file: 'svc/auth.config.js'});
    expect(functions).toEqual([]);
  });

  test('a link to a directory is not followed', async () => {
    const root = projectDirectory({'svc/a/m.ts': MODULE});
    symlinkSync(root, join(root, 'svc/again'));
    const {functions} = await findModules(await readProject(root));
    expect(functions.map(({path}) => path)).toEqual(['a/m']);
  });

  test('another directory holds them when svc.json says so', async () => {
    const root = projectDirectory({'svc.json': '{"functions": "backend/app/"}', 'backend/app/m.ts': MODULE});
    const {functions} = await findModules(await readProject(root));
    expect(functions).toEqual([{path: 'm', file: 'backend/app/m.ts'}]);
  });
});

describe('what is refused', () => {
  test.each([
    ['my-module.ts', /"my-module".* can only contain alphanumeric characters, underscores, or periods/],
    ['my-folder/m.ts', /"my-folder".* can only contain alphanumeric characters, underscores, or periods/],
    ['é.ts', /can only contain alphanumeric characters/],
    [`${'x'.repeat(65)}.ts`, /longer than 64 characters/],
    ['__.ts', /at least one alphanumeric character/],
    ['_deps/m.ts', /_deps is reserved/],
    ['svc.config.ts', /svc\.config is not supported/],
  ])('%s', async (name, message) => {
    expect(await refusalOf(name, 'fine.ts')).toEqual([
      {file: `svc/${name}`, line: null, message: expect.stringMatching(message)},
    ]);
  });

  test('a component of exactly 64 characters is fine', async () => {
    const name = 'x'.repeat(64);
    expect(await pathsOf({[`${name}.ts`]: MODULE})).toEqual([name]);
  });

  test.each([
    ['x.ts', 'x.js'],
    ['a/x.tsx', 'a/x.mjs'],
    ['auth.config.ts', 'auth.config.js'],
    ['schema.ts', 'schema.js'],
  ])('%s beside %s, with both names', async (...names) => {
    const [error, ...others] = await refusalOf(...names);
    expect(others).toEqual([]);
    for (const name of names) expect(error!.message).toContain(`svc/${name}`);
  });

  test('everything at once', async () => {
    expect(await refusalOf('a-b.ts', 'c-d.ts', 'e.ts', 'e.js')).toHaveLength(3);
  });

  test('a project without functions directory, with how to make one', async () => {
    const root = projectDirectory({'package.json': '{}'});
    const [error] = await errorsOf(readProject(root).then(findModules));
    expect(error!.message).toMatch(/there is no directory svc\/ .*svc init/);
  });
});

describe('https.ts', () => {
  test('with a router in it is warned about', async () => {
    const {warnings} = await findModules(
      await projectOf({'https.ts': "import {httpRouter} from 'svc/server';\nexport default httpRouter();\n"}),
    );
    expect(warnings).toEqual([{file: 'svc/https.ts', message: expect.stringContaining('did you mean http')}]);
  });
  test('without one is a module as any', async () => {
    const {warnings} = await findModules(await projectOf({'https.ts': MODULE}));
    expect(warnings).toEqual([]);
  });
});
