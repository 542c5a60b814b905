/**
 * Reads what an isolate said of a deployment's modules. It is text from outside: every shape is checked, and every rule of
 * the contract about names, validators, indexes, routes and providers, so that what is stored can be relied on.
 */
import {
  DEPLOYMENT_FUNCTIONS_MAX,
  INDEX_FIELDS_MAX,
  NESTING_LEVELS_MAX,
  PATH_COMPONENT_CHARS_MAX,
  SCHEMA_FIELDS_MAX,
  SCHEMA_INDEXES_MAX,
  SCHEMA_TABLES_MAX,
} from '../../../shared/limits.ts';
import type {
  AuthProvider,
  FunctionEntry,
  FunctionKind,
  HttpRoute,
  SchemaDefinition,
  SchemaTable,
} from '../../../shared/protocol/functions.ts';
import type {ValidatorJson} from '../../../shared/values/validator.ts';

/** What was said cannot be deployed; a line for each reason. */
export class ManifestFault extends Error {
  override name = 'ManifestFault';
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines[0] ?? '');
    this.lines = lines;
  }
}

const KINDS: readonly FunctionKind[] = ['query', 'paginatedQuery', 'mutation', 'action', 'httpAction'];
const COMPONENT = /^(?=.*[A-Za-z0-9])[A-Za-z0-9_.]+$/;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NAME_CHARS_MAX = 64;
const SYSTEM_FIELDS = ['_id', '_creationTime', '_updateTime'];

/** @throws ManifestFault when a module cannot have this path */
export function checkModulePath(module: string): void {
  for (const part of module.split('/')) {
    if (COMPONENT.test(part) && part.length <= PATH_COMPONENT_CHARS_MAX) continue;
    throw new ManifestFault([
      `${module} is not a valid path to a module: its components can only contain alphanumeric characters, underscores, or periods, ` +
        `at most ${PATH_COMPONENT_CHARS_MAX} of them`,
    ]);
  }
}

export function functionEntries(module: string, json: string, hash: string): FunctionEntry[] {
  checkModulePath(module);
  const said = parsed(json);
  if (!Array.isArray(said) || said.length > DEPLOYMENT_FUNCTIONS_MAX) throw new ManifestFault(['it exports too much']);
  const lines: string[] = [];
  const entries: FunctionEntry[] = [];
  for (const item of said as Record<string, unknown>[]) {
    const {name, kind, visibility, args = null, returns = null} = item ?? {};
    if (typeof name !== 'string' || !COMPONENT.test(name) || name.length > PATH_COMPONENT_CHARS_MAX) {
      lines.push(
        `${String(name)} is not a valid name of a function: it can only contain alphanumeric characters, underscores, or periods`,
      );
      continue;
    }
    if (!KINDS.includes(kind as FunctionKind) || (visibility !== 'public' && visibility !== 'internal')) {
      lines.push(`${name} is a function of an unknown kind`);
      continue;
    }
    const fault = validatorFault(args, 1) ?? validatorFault(returns, 1) ?? argsFault(args as ValidatorJson | null);
    if (fault !== null) {
      lines.push(`${name}: ${fault}`);
      continue;
    }
    entries.push({
      path: `${module}:${name}`,
      module,
      name,
      kind: kind as FunctionKind,
      visibility,
      args: args as ValidatorJson | null,
      returns: returns as ValidatorJson | null,
      hash,
    });
  }
  if (lines.length > 0) throw new ManifestFault(lines);
  return entries;
}

function argsFault(args: ValidatorJson | null): string | null {
  return args === null || args.type === 'object' || args.type === 'any'
    ? null
    : 'Args validator must be an object or any';
}

export function httpRoutes(json: string): HttpRoute[] {
  const said = parsed(json);
  if (!Array.isArray(said) || said.length > DEPLOYMENT_FUNCTIONS_MAX)
    throw new ManifestFault(['it has too many routes']);
  return (said as Record<string, unknown>[]).map(({method, path, pathPrefix}, index) => {
    const isPath = typeof path === 'string' && pathPrefix === null;
    const isPrefix = typeof pathPrefix === 'string' && path === null;
    if (typeof method !== 'string' || !(isPath || isPrefix) || !String(path ?? pathPrefix).startsWith('/')) {
      throw new ManifestFault([`route ${index} is not a route`]);
    }
    return {method, path: path as string | null, pathPrefix: pathPrefix as string | null, index};
  });
}

export function schemaDefinition(json: string): SchemaDefinition {
  const {tables, schemaValidation} = (parsed(json) ?? {}) as Record<string, unknown>;
  if (!Array.isArray(tables) || tables.length > SCHEMA_TABLES_MAX) {
    throw new ManifestFault([`a schema has at most ${SCHEMA_TABLES_MAX} tables`]);
  }
  const lines: string[] = [];
  for (const table of tables) lines.push(...tableFaults(table as Partial<SchemaTable>));
  if (lines.length > 0) throw new ManifestFault(lines);
  return {tables: tables as SchemaTable[], schemaValidation: schemaValidation !== false};
}

function tableFaults({name, document, indexes}: Partial<SchemaTable>): string[] {
  if (typeof name !== 'string' || !isTableName(name)) {
    return [
      `${String(name)} is an invalid table name: it is a letter, then letters, digits and underscores, at most ${NAME_CHARS_MAX} characters` +
        (String(name).startsWith('_') ? '; a leading underscore is reserved' : ''),
    ];
  }
  const fault = validatorFault(document, 1);
  if (fault !== null || document?.type !== 'object')
    return [`table ${name}: ${fault ?? 'its fields are not an object'}`];
  const lines: string[] = [];
  for (const field of Object.keys(document.value)) {
    if (SYSTEM_FIELDS.includes(field)) lines.push(`table ${name}: ${field} is a system field and may not be declared`);
    else if (field.startsWith('_'))
      lines.push(`table ${name}: Field '${field}' starts with an underscore, which is only allowed for system fields`);
  }
  if (!Array.isArray(indexes) || indexes.length > SCHEMA_INDEXES_MAX) {
    return [...lines, `table ${name} has more than ${SCHEMA_INDEXES_MAX} indexes`];
  }
  return [...lines, ...indexFaults(name, document, indexes)];
}

function isTableName(name: string): boolean {
  return IDENTIFIER.test(name) && !name.startsWith('_') && name.length <= NAME_CHARS_MAX;
}

function indexFaults(table: string, document: ValidatorJson, indexes: SchemaTable['indexes']): string[] {
  const lines: string[] = [];
  const names = new Set<string>();
  const lists = new Map<string, string>();
  for (const {name, fields} of indexes) {
    const index = `${table}.${String(name)}`;
    if (typeof name !== 'string' || !isTableName(name) || name === 'by_id' || name === 'by_creation_time') {
      lines.push(
        `${index} cannot be an index: the name is reserved, or is not a letter and then letters, digits and underscores`,
      );
      continue;
    }
    if (names.has(name))
      lines.push(`table ${table} has two indexes with the name ${name}; index names are unique in a table`);
    names.add(name);
    if (!Array.isArray(fields) || fields.length === 0 || fields.length > INDEX_FIELDS_MAX || !fields.every(isText)) {
      lines.push(`the index ${index} must have 1 to ${INDEX_FIELDS_MAX} fields`);
      continue;
    }
    for (const field of fields) {
      if (SYSTEM_FIELDS.includes(field))
        lines.push(
          `the index ${index} lists ${field}: _creationTime and _id are always its last fields and are not listed`,
        );
      else if (!isPossible(document, field.split('.'))) {
        lines.push(
          `In table "${table}" the index "${name}" is invalid because it references the field ${field} that does not exist`,
        );
      }
    }
    const twice = fields.find((field, i) => fields.indexOf(field) !== i);
    if (twice !== undefined) lines.push(`Duplicate field ${twice} in the index ${index}`);
    const same = lists.get(JSON.stringify(fields));
    if (same !== undefined) lines.push(`indexes ${same} and ${name} of table ${table} have the same fields`);
    lists.set(JSON.stringify(fields), name);
  }
  return lines;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Whether a document that fits may have something at this path. */
function isPossible(validator: ValidatorJson, [step, ...rest]: string[]): boolean {
  if (step === undefined || validator.type === 'any') return true;
  if (validator.type === 'union') return validator.value.some(member => isPossible(member, [step, ...rest]));
  if (validator.type !== 'object' || !Object.hasOwn(validator.value, step)) return false;
  return isPossible(validator.value[step]!.fieldType, rest);
}

export function authProviders(json: string): AuthProvider[] {
  const said = parsed(json) as unknown[];
  const lines: string[] = [];
  const providers: AuthProvider[] = [];
  for (const [i, item] of said.entries()) {
    const provider = authProvider((item ?? {}) as Record<string, unknown>);
    if (typeof provider === 'string') lines.push(`auth provider ${i + 1}: ${provider}`);
    else providers.push(provider);
  }
  if (lines.length > 0) throw new ManifestFault(lines);
  return providers;
}

function authProvider(item: Record<string, unknown>): AuthProvider | string {
  const {type, domain, applicationID, issuer, jwks, algorithm} = item;
  if (type === undefined) {
    if (typeof domain !== 'string' || domain === '') return 'domain must be a text, the issuer of the tokens';
    if (typeof applicationID !== 'string' || applicationID === '')
      return 'applicationID must be a text, the audience of the tokens';
    return {type: 'oidc', domain, applicationID};
  }
  if (type !== 'customJwt') return `type must be "customJwt", or missing for OIDC; found ${JSON.stringify(type)}`;
  if (typeof issuer !== 'string' || issuer === '') return 'issuer must be a text';
  if (typeof jwks !== 'string' || jwks === '') return 'jwks must be a URL or a data: URI';
  if (algorithm !== 'RS256' && algorithm !== 'ES256') return 'algorithm must be "RS256" or "ES256"';
  if (applicationID !== undefined && typeof applicationID !== 'string')
    return 'applicationID must be a text, or missing';
  return {type: 'customJwt', issuer, jwks, algorithm, applicationID: applicationID ?? null};
}

/** Why this is no validator; null: it is one, or there is none. */
function validatorFault(json: unknown, level: number): string | null {
  if (json === null) return null;
  if (level > NESTING_LEVELS_MAX) return `a validator nests deeper than ${NESTING_LEVELS_MAX} levels`;
  const {type, value, tableName} = (json ?? {}) as {type?: unknown; value?: unknown; tableName?: unknown};
  switch (type) {
    case 'any':
    case 'null':
    case 'string':
    case 'number':
    case 'boolean':
      return null;
    case 'id':
      return typeof tableName === 'string' ? null : 'v.id() needs the name of a table';
    case 'literal':
      return ['string', 'number', 'boolean'].includes(typeof value)
        ? null
        : 'v.literal() needs a string, number or boolean';
    case 'array':
      return validatorFault(value ?? 0, level + 1);
    case 'union':
      return Array.isArray(value) ? firstFault(value, level) : 'a union without members';
    case 'object':
      return objectFault(value, level);
    default:
      return 'a validator of an unknown type';
  }
}

function objectFault(value: unknown, level: number): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'an object validator without fields';
  const fields = Object.entries(value);
  if (fields.length > SCHEMA_FIELDS_MAX) return `an object validator has at most ${SCHEMA_FIELDS_MAX} fields`;
  for (const [name, field] of fields) {
    if (!IDENTIFIER.test(name) || name.length > NAME_CHARS_MAX || /^_+$/.test(name)) {
      return `${JSON.stringify(name)} cannot be a declared field: it is letters, digits and underscores, at most ${NAME_CHARS_MAX} characters, not only underscores, and does not begin with a digit`;
    }
    const {fieldType, optional} = (field ?? {}) as {fieldType?: unknown; optional?: unknown};
    if (typeof optional !== 'boolean') return `field ${name} does not say whether it is optional`;
    const fault = validatorFault(fieldType ?? 0, level + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function firstFault(members: readonly unknown[], level: number): string | null {
  for (const member of members) {
    const fault = validatorFault(member ?? 0, level + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ManifestFault(['what it exports cannot be read']);
  }
}
