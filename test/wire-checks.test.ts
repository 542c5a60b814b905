/** The checks of wire types that the build generates say what typebox says when it looks at the types themselves. */
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';
import fc from 'fast-check';
import type {TSchema} from 'typebox';
import {describe, expect, test} from 'vitest';
import {wireChecks} from '../build/wire-checks.ts';
import {wireCheck} from '../engine/wire/check.ts';
import {faults} from '../engine/wire/faults.ts';
import type {GeneratedType} from '../engine/wire/generated-check.ts';
import * as deployments from '../shared/protocol/deployments.ts';
import * as documents from '../shared/protocol/documents.ts';
import * as environment from '../shared/protocol/environment.ts';
import * as calls from '../shared/protocol/function-calls.ts';
import * as clientMessages from '../shared/protocol/function-socket/client-message.ts';
import * as queries from '../shared/protocol/queries.ts';
import * as sandboxes from '../shared/protocol/sandboxes.ts';
import * as schedule from '../shared/protocol/schedule.ts';
import * as schema from '../shared/protocol/schema.ts';
import * as services from '../shared/protocol/services.ts';
import * as sessions from '../shared/protocol/sessions.ts';
import * as settings from '../shared/protocol/settings.ts';
import {rounds} from './harness/nightly.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const MODULES = {
  deployments,
  documents,
  environment,
  'function-calls': calls,
  'function-socket/client-message': clientMessages,
  queries,
  schedule,
  sandboxes,
  services,
  schema,
  sessions,
  settings,
};

function identifierOf(module: string): string {
  return module.replaceAll(/\W/g, '_');
}

/** The modules as the worker's bundle has them. */
const generated = await bundled();

async function bundled(): Promise<Record<string, Record<string, unknown>>> {
  const lines = Object.keys(MODULES).map(
    name => `export * as ${identifierOf(name)} from './shared/protocol/${name}.ts';`,
  );
  const {outputFiles} = await build({
    stdin: {contents: lines.join('\n'), resolveDir: root},
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    plugins: [wireChecks(root)],
    absWorkingDir: root,
    logLevel: 'silent',
  });
  const text = outputFiles[0]!.text;
  return (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Record<string, Record<string, unknown>>;
}

type Shape = {
  type?: string;
  properties?: Record<string, Shape>;
  required?: string[];
  items?: Shape;
  anyOf?: Shape[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  patternProperties?: Record<string, Shape>;
};

/** Values of this type and values that just miss it. */
function near(shape: Shape): fc.Arbitrary<unknown> {
  return fc.oneof({weight: 8, arbitrary: like(shape)}, {weight: 1, arbitrary: fc.jsonValue({maxDepth: 1})});
}

function like(shape: Shape): fc.Arbitrary<unknown> {
  if (shape.anyOf !== undefined) return fc.oneof(...shape.anyOf.map(near));
  if (shape.enum !== undefined) return fc.constantFrom(...shape.enum, 'none');
  if (shape.const !== undefined) return fc.constantFrom(shape.const, 'other');
  switch (shape.type) {
    case 'object': {
      if (shape.patternProperties !== undefined) {
        return fc.dictionary(fc.string(), near(Object.values(shape.patternProperties)[0]!), {maxKeys: 3});
      }
      const members = Object.entries(shape.properties ?? {}).map(([name, member]) => [name, near(member)] as const);
      const required = (shape.required ?? []).filter((_, at) => at > 0);
      return fc.record(Object.fromEntries(members), {requiredKeys: required as never[]});
    }
    case 'array':
      return fc.array(near(shape.items ?? {}), {maxLength: 3});
    case 'string':
      return fc.oneof(
        fc.string(),
        fc.constant('x'.repeat(shape.maxLength ?? 1)),
        fc.constant('😀'.repeat((shape.maxLength ?? 0) + 1)),
      );
    case 'number':
    case 'integer':
      return fc.oneof(
        fc.integer(),
        fc.double(),
        fc.constantFrom(
          0,
          -0,
          1,
          1.5,
          shape.minimum ?? 0,
          shape.maximum ?? 0,
          (shape.maximum ?? 0) + 1,
          Number.NaN,
          Number.POSITIVE_INFINITY,
        ),
      );
    case 'boolean':
      return fc.boolean();
    default:
      return fc.jsonValue({maxDepth: 1});
  }
}

const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null && '~kind' in value;

const withoutDescription = (key: string, value: unknown) =>
  key === 'description' && typeof value === 'string' ? undefined : value;

describe('what the build makes of wire types', () => {
  for (const [file, module] of Object.entries(MODULES)) {
    const exported = Object.entries(module as Record<string, unknown>);
    test.each(exported.filter(([, value]) => isSchema(value)))(
      `${file}: %s is checked, and refused, as its type says`,
      (name, value) => {
        const type = value as TSchema;
        const made = generated[identifierOf(file)]![name] as GeneratedType;
        const known = wireCheck(type);
        expect(made.schema).toEqual(JSON.parse(JSON.stringify(type, withoutDescription)));
        fc.assert(
          fc.property(near(type as Shape), sample => {
            expect(made.check(sample)).toBe(known.check(sample));
            if (!known.check(sample)) expect(faults(made.schema, sample)).toEqual(known.faults(sample));
          }),
          {numRuns: rounds({commit: 100, nightly: 300})},
        );
      },
    );

    test.each(exported.filter(([, value]) => !isSchema(value)))(`${file}: %s keeps its value`, (name, value) => {
      expect(generated[identifierOf(file)]![name]).toEqual(value);
    });
  }
});

test('typebox is not in what a worker loads at its start', async () => {
  const {metafile} = await build({
    entryPoints: [join(root, 'worker/main.ts')],
    bundle: true,
    splitting: true,
    metafile: true,
    write: false,
    outdir: join(root, 'dist'),
    format: 'esm',
    platform: 'node',
    external: ['better-sqlite3', 'isolated-vm', 'piscina'],
    define: {__VERSION__: '""', __BUILD__: '""'},
    plugins: [wireChecks(root)],
    absWorkingDir: root,
    logLevel: 'silent',
  });
  const entry = Object.entries(metafile.outputs).find(([, {entryPoint}]) => entryPoint === 'worker/main.ts')![0];
  const loaded = new Set<string>();
  const load = (path: string): void => {
    const output = metafile.outputs[path];
    if (output === undefined || loaded.has(path)) return;
    loaded.add(path);
    for (const {kind, path: imported} of output.imports) if (kind === 'import-statement') load(imported);
  };
  load(entry);
  // What is written of answers is for tests and tools.
  const inputs = Object.values(metafile.outputs).flatMap(output => Object.keys(output.inputs));
  expect(
    inputs.filter(input => /^shared\/(operation-types|protocol\/(journal|functions|error-envelope))\.ts$/.test(input)),
  ).toEqual([]);
  const packages = [...loaded]
    .flatMap(path => Object.keys(metafile.outputs[path]!.inputs))
    .filter(input => input.includes('node_modules'));
  // `guard` counts code points.
  expect(packages.filter(path => !path.includes('typebox/build/guard'))).toEqual([]);
  const external = [...loaded].flatMap(path =>
    metafile.outputs[path]!.imports.filter(({external, path: name}) => external && !name.startsWith('node:')),
  );
  expect(external.map(({path}) => path).filter((path, at, all) => all.indexOf(path) === at)).toEqual([
    'better-sqlite3',
  ]);
});
