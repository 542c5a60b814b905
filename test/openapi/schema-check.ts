/** JSON Schema 2020-12, as a validator of its own reads it. */
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {Ajv2020, type AnySchema, type ValidateFunction} from 'ajv/dist/2020.js';

type Json = Readonly<Record<string, unknown>>;
/** What the components are known as. */
const DOCUMENT = 'svc:///document';
const META = '@seriousme/openapi-schema-validator/schemas/v3.1/schema.json';

/** What is wrong with the document by the schema of OpenAPI 3.1 itself. */
export function documentFaults(document: unknown): string[] {
  const path = createRequire(import.meta.url).resolve(META);
  const ajv = new Ajv2020({strict: false, validateFormats: false, allErrors: true});
  const check = ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as AnySchema);
  return check(document) ? [] : ajv.errorsText(check.errors, {separator: '\n'}).split('\n');
}

/**
 * Values held against schemas of a document. Members that an object of the document does not name are faults: readers pass over
 * them, but what is answered is to be described. (Inside `allOf` one part knows nothing of the other, so that is left out.)
 */
export class SchemaCheck {
  readonly #ajv = new Ajv2020({strict: true, strictTypes: false, strictRequired: false, validateFormats: false});
  readonly #checks = new WeakMap<object, ValidateFunction>();

  constructor(document: Json) {
    this.#ajv.addVocabulary(['components']);
    this.#ajv.addSchema({$id: DOCUMENT, components: closed({schemas: (document.components as Json).schemas})});
  }

  faults(schema: Json, value: unknown): string[] {
    const check = this.#checks.get(schema) ?? this.#ajv.compile(closed(schema) as AnySchema);
    this.#checks.set(schema, check);
    return check(value) ? [] : this.#ajv.errorsText(check.errors, {separator: '\n'}).split('\n');
  }
}

/** The schema without members that it does not name, where it names any. */
function closed(shape: unknown): unknown {
  if (Array.isArray(shape)) return shape.map(closed);
  if (typeof shape !== 'object' || shape === null) return shape;
  const parts = Object.fromEntries(
    Object.entries(shape).map(([name, part]) => [name, name === 'allOf' ? absolute(part) : closed(part)]),
  );
  if (typeof parts.$ref === 'string') parts.$ref = `${DOCUMENT}${parts.$ref}`;
  const {properties, additionalProperties} = shape as {properties?: object; additionalProperties?: unknown};
  const isNamed = Object.keys(properties ?? {}).length > 0 && additionalProperties === undefined;
  return isNamed ? {...parts, additionalProperties: false} : parts;
}

/** References alone. */
function absolute(part: unknown): unknown {
  return (part as Json[]).map(one => (typeof one.$ref === 'string' ? {$ref: `${DOCUMENT}${one.$ref}`} : one));
}
