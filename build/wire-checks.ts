/**
 * An esbuild plugin that replaces the worker's wire type checks by code that typebox generates at build time, so that
 * typebox itself does not use memory in every worker. Each schema that a module of `shared/protocol` exports becomes
 * `{check, schema}`. The schema has no descriptions and is created on first use. `engine/wire/generated-check.ts`
 * replaces `engine/wire/check.ts`. All schemas are converted in the same way; a test checks that both ways agree for
 * any value.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import type {Plugin} from 'esbuild';
import type {TSchema} from 'typebox';
import {Code} from 'typebox/compile';

const PROTOCOL = /[/\\]shared[/\\]protocol[/\\].*\.ts$/;

export function wireChecks(root: string): Plugin {
  return {
    name: 'wire checks',
    setup({onResolve, onLoad}) {
      onResolve({filter: /^\.\/wire\/check\.ts$/}, () => ({path: join(root, 'engine/wire/generated-check.ts')}));
      onLoad({filter: PROTOCOL}, async ({path}) => {
        if (!readFileSync(path, 'utf8').includes("from 'typebox'")) return undefined;
        const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
        return {contents: generatedModule(module), loader: 'js', resolveDir: root};
      });
    },
  };
}

/** The module with the same exports, its schemas as `GeneratedType`. */
function generatedModule(module: Record<string, unknown>): string {
  const exported = Object.entries(module);
  const code = exported.map(([name, value]) => {
    if (typeof value === 'function')
      throw new Error(`${name}: a module of wire types exports types and constants only`);
    if (!isSchema(value)) return `export const ${name} = ${JSON.stringify(value)};`;
    const schema = JSON.stringify(value, withoutDescription);
    const type = `{check: Check, get schema() { return schema ??= ${schema}; }}`;
    return `export const ${name} = /* @__PURE__ */ (() => {\n${checkOf(value)}\nlet schema;\nreturn ${type};\n})();`;
  });
  return [`import {Guard} from 'typebox/guard';`, ...code].join('\n');
}

/** Descriptions are only for the API's document. A property with that name is an object. */
function withoutDescription(key: string, value: unknown): unknown {
  return key === 'description' && typeof value === 'string' ? undefined : value;
}

/** Statements that end with a function `Check`. Everything that the check refers to, except `Guard`, is written out. */
function checkOf(schema: TSchema): string {
  const {External, Code: source} = Code(schema);
  const statements = source
    .split('\n')
    .filter(line => line !== '' && !/^(import |\/\/ |let External |export function SetExternal)/.test(line))
    .map(line => line.replace(/^export /, ''));
  const code = statements.join('\n');
  if (/\bHashing\./.test(code)) throw new Error(`a wire type needs what is not generated: ${JSON.stringify(schema)}`);
  const names = External.variables.map(namesIn);
  const compared = code.replace(/\bExternal\[(\d+)\]\.test\((\w+)\)/g, (test, at: string, name: string) => {
    const known = names[Number(at)] ?? null;
    return known === null ? test : `(${known.map(one => `${name} === ${JSON.stringify(one)}`).join(' || ')})`;
  });
  const variables = External.variables.map((variable, i) => (names[i] === null ? written(variable) : 'null'));
  return `const ${External.identifier} = [${variables.join(', ')}];\n${compared}`;
}

/**
 * The member names of a closed object, for which typebox uses a regular expression: comparing strings takes half the
 * time. Null: it is another expression.
 */
function namesIn(variable: unknown): string[] | null {
  const source = variable instanceof RegExp ? variable.source : '';
  return /^\(\^\w+\$(\|\^\w+\$)*\)$/.test(source) ? source.slice(2, -2).split('$|^') : null;
}

function written(variable: unknown): string {
  if (variable instanceof RegExp) return variable.toString();
  throw new Error(`a check refers to what cannot be written out: ${String(variable)}`);
}

function isSchema(value: unknown): value is TSchema {
  return typeof value === 'object' && value !== null && '~kind' in value;
}
