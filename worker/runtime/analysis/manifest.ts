/**
 * Parses an isolate's description of a deployment's modules. It is outside input. Every shape is checked, and every
 * rule of the contract about names, validators, indexes, routes and providers, so that the stored manifest can be
 * trusted.
 */

import {issuerUrl} from '../../../shared/issuer-url.ts';
import {INDEX_FIELDS_MAX, PATH_COMPONENT_CHARS_MAX, SCHEMA_INDEXES_MAX} from '../../../shared/limits.ts';
import type {
  AuthProvider,
  FunctionEntry,
  FunctionKind,
  HttpRoute,
  SchemaDefinition,
  SchemaTable,
} from '../../../shared/protocol/functions.ts';
import {isText} from '../../../shared/values/shapes.ts';
import type {ValidatorJson} from '../../../shared/values/validator.ts';
import {DEPLOYMENT_FUNCTIONS_MAX, SCHEMA_TABLES_MAX} from '../limits.ts';
import {validatorFault} from './validator-fault.ts';

/** The description cannot be deployed; one line per reason. */
export class ManifestFault extends Error {
  override name = 'ManifestFault';
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines[0] ?? '');
    this.lines = lines;
  }
}

type Index = SchemaTable['indexes'][number];

const KINDS: readonly FunctionKind[] = ['query', 'paginatedQuery', 'mutation', 'action', 'httpAction'];
const COMPONENT = /^(?=.*[A-Za-z0-9])[A-Za-z0-9_.]+$/;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NAME_CHARS_MAX = 64;
/** HEAD is served like GET. */
const ROUTE_METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
const SYSTEM_FIELDS = ['_id', '_creationTime', '_updateTime'];

/** @throws ManifestFault if a module cannot have this path */
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
  const lines: string[] = [];
  const entries: FunctionEntry[] = [];
  for (const {name, kind, visibility, args = null, returns = null} of objectsIn(parsed(json), 'functions')) {
    if (typeof name !== 'string' || !COMPONENT.test(name) || name.length > PATH_COMPONENT_CHARS_MAX) {
      lines.push(
        `${shown(name)} is not a valid name of a function: it can only contain alphanumeric characters, underscores, or periods`,
      );
      continue;
    }
    if (!KINDS.includes(kind as FunctionKind) || (visibility !== 'public' && visibility !== 'internal')) {
      lines.push(`${name} is a function of an unknown kind`);
      continue;
    }
    const fault = validatorFault(args) ?? validatorFault(returns) ?? argsFault(args as ValidatorJson | null);
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
  return objectsIn(parsed(json), 'routes').map(({method, path, pathPrefix}, index) => {
    const isPath = typeof path === 'string' && pathPrefix === null;
    const isPrefix = typeof pathPrefix === 'string' && path === null;
    if (typeof method !== 'string' || !(isPath || isPrefix)) throw new ManifestFault([`route ${index} is not a route`]);
    const route = `the route ${shown(method)} ${shown(path ?? pathPrefix)}`;
    if (!ROUTE_METHODS.includes(method)) {
      throw new ManifestFault([`${route}: its method must be one of ${ROUTE_METHODS.join(', ')}`]);
    }
    if (!String(path ?? pathPrefix).startsWith('/')) throw new ManifestFault([`${route}: it does not start with a /`]);
    if (isPrefix && !pathPrefix.endsWith('/')) throw new ManifestFault([`${route}: a pathPrefix must end with a /`]);
    return {method, path: path as string | null, pathPrefix: pathPrefix as string | null, index};
  });
}

export function schemaDefinition(json: string): SchemaDefinition {
  const {tables, schemaValidation} = (parsed(json) ?? {}) as Record<string, unknown>;
  if (!Array.isArray(tables) || tables.length > SCHEMA_TABLES_MAX) {
    throw new ManifestFault([`a schema has at most ${SCHEMA_TABLES_MAX} tables`]);
  }
  const lines = objectsIn(tables, 'tables').flatMap(tableFaults);
  const names = new Set((tables as SchemaTable[]).map(({name}) => name));
  if (names.size < tables.length) lines.push('a table is declared twice');
  if (lines.length > 0) throw new ManifestFault(lines);
  return {tables: tables as SchemaTable[], schemaValidation: schemaValidation !== false};
}

function tableFaults({name, document, indexes}: Partial<SchemaTable>): string[] {
  if (typeof name !== 'string' || !isTableName(name)) {
    return [
      `${shown(name)} is an invalid table name: it is a letter, then letters, digits and underscores, at most ${NAME_CHARS_MAX} characters` +
        (shown(name).startsWith('_') ? '; a leading underscore is reserved' : ''),
    ];
  }
  const fault = validatorFault(document);
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
  return [...lines, ...indexFaults(name, document, objectsIn(indexes, 'indexes'))];
}

function isTableName(name: string): boolean {
  return IDENTIFIER.test(name) && !name.startsWith('_') && name.length <= NAME_CHARS_MAX;
}

function indexFaults(table: string, document: ValidatorJson, indexes: readonly Partial<Index>[]): string[] {
  const lines: string[] = [];
  const names = new Set<string>();
  const lists = new Map<string, string>();
  for (const {name, fields} of indexes) {
    const index = `${table}.${shown(name)}`;
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

/** Whether a document that matches the validator can have a value at this path. */
function isPossible(validator: ValidatorJson, [step, ...rest]: string[]): boolean {
  if (step === undefined || validator.type === 'any') return true;
  if (validator.type === 'union') return validator.value.some(member => isPossible(member, [step, ...rest]));
  if (validator.type !== 'object' || !Object.hasOwn(validator.value, step)) return false;
  return isPossible(validator.value[step]!.fieldType, rest);
}

export function authProviders(json: string): AuthProvider[] {
  const lines: string[] = [];
  const providers: AuthProvider[] = [];
  for (const [i, item] of objectsIn(parsed(json), 'providers').entries()) {
    const provider = authProvider(item);
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
    if (!isIssuer(domain))
      return `domain must be the issuer's URL, like https://id.example.com; found ${shown(domain)}`;
    return {type: 'oidc', domain, applicationID};
  }
  if (type !== 'customJwt') return `type must be "customJwt", or missing for OIDC; found ${shown(type)}`;
  if (typeof issuer !== 'string' || issuer === '') return 'issuer must be a text';
  if (!isIssuer(issuer)) return `issuer must be a URL, like https://id.example.com; found ${shown(issuer)}`;
  if (typeof jwks !== 'string' || !isKeySetAddress(jwks)) {
    return `jwks must be an http(s) URL or a data: URI; found ${shown(jwks)}`;
  }
  if (algorithm !== 'RS256' && algorithm !== 'ES256') return 'algorithm must be "RS256" or "ES256"';
  if (applicationID !== undefined && typeof applicationID !== 'string')
    return 'applicationID must be a text, or missing';
  return {type: 'customJwt', issuer, jwks, algorithm, applicationID: applicationID ?? null};
}

/**
 * The `iss` of tokens is compared with it, and an OIDC provider's metadata is fetched from below it. `https://` can be
 * missing.
 */
function isIssuer(issuer: string): boolean {
  const url = URL.parse(issuerUrl(issuer));
  return url !== null && url.hostname !== '' && !/[\s?#]/.test(issuer);
}

function isKeySetAddress(address: string): boolean {
  if (address.startsWith('data:')) return address.includes(',');
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '';
}

/** Shortens a name for messages: it can be as long as a file, and of any type. */
function shown(name: unknown): string {
  if (typeof name !== 'string') return `a name that is a ${typeof name}`;
  return name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX)}…` : name;
}

/** @throws ManifestFault unless it is a list of objects within the length limit */
function objectsIn(said: unknown, what: string): Record<string, unknown>[] {
  if (!Array.isArray(said) || said.length > DEPLOYMENT_FUNCTIONS_MAX) {
    throw new ManifestFault([`its ${what} are no list, or more than ${DEPLOYMENT_FUNCTIONS_MAX}`]);
  }
  if (!said.every(isObject)) throw new ManifestFault([`its ${what} are not all objects`]);
  return said;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ManifestFault(['what it exports cannot be read']);
  }
}
