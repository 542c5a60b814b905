/** Parameters of paths, query strings and headers. */
import {
  CRON_NAME_CHARS_MAX,
  DOCUMENT_ID_CHARS_MAX,
  ENVIRONMENT_NAME_CHARS_MAX,
  IDEMPOTENCY_KEY_CHARS_MAX,
  IMPORT_ID_CHARS_MAX,
  REQUEST_ID_CHARS_MAX,
  TABLE_NAME_CHARS_MAX,
} from '../../shared/limits.ts';
import {OPERATION_TYPES, type OperationTypes} from '../../shared/operation-types.ts';
import type {OPERATIONS, Operation} from '../../shared/operations.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import {SERVICE_NAME} from '../../shared/protocol/services.ts';
import {PROTOCOL} from '../../shared/protocol/ws/version.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {OPERATION_TEXTS} from './operation-texts.ts';
import type {DescribedRoute, Name} from './routes.ts';
import type {Schema, Schemas} from './schemas.ts';
import type {Example} from './texts/text.ts';

type Parameter = {description: string; schema: Schema; example: string};
/** `how` of a function's schedule is not a path parameter in the document. */
type InPaths = Exclude<(typeof OPERATIONS)[Operation]['params'][number], 'how' | 'name'>;

const text = {type: 'string', minLength: 1};
const named = (charsMax: number) => ({...text, maxLength: charsMax});

/** Path parameters; `name` has a different meaning in each group. */
const PATH: Record<
  InPaths | 'tenant_id' | 'key_id' | 'file' | 'crons.name' | 'env.name' | 'dashboard.session_id',
  Parameter
> = {
  tenant_id: {description: 'the tenant', schema: {type: 'string', pattern: TENANT_ID.source}, example: 'acme'},
  table: {
    description: 'a table: a letter, then letters, digits and `_`',
    schema: {type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]*$', maxLength: TABLE_NAME_CHARS_MAX},
    example: 'cities',
  },
  document_id: {
    description: 'a document: the id that the service made, or one of your own, printable characters without `/`',
    schema: named(DOCUMENT_ID_CHARS_MAX),
    example: 'bern',
  },
  import_id: {description: 'an import, as its caller named it', schema: named(IMPORT_ID_CHARS_MAX), example: 'nightly'},
  task_id: {description: 'a task', schema: text, example: '06a2s60d2xqxk3smxa8kqf6vw8'},
  live_query_id: {description: 'a live query', schema: text, example: 'q1'},
  job_id: {description: 'a job', schema: text, example: 'c8b1e6a0f2d94c37a5e8b6d1f0a29374'},
  'crons.name': {description: 'a cron', schema: named(CRON_NAME_CHARS_MAX), example: 'sweep'},
  'env.name': {
    description: 'a variable: a letter or `_`, then letters, digits and `_`',
    schema: named(ENVIRONMENT_NAME_CHARS_MAX),
    example: 'API_KEY',
  },
  sha512: {
    description: 'SHA-512 of the tarball, hex',
    schema: {type: 'string', pattern: '^[0-9a-f]{128}$'},
    example: '0'.repeat(128),
  },
  deployment_id: {description: 'a deployment', schema: {type: 'string', pattern: '^[0-9]+$'}, example: '1'},
  other_id: {
    description: 'the deployment to compare with',
    schema: {type: 'string', pattern: '^[0-9]+$'},
    example: '1',
  },
  file_path: {
    description: 'a path of the list of files, percent-encoded with its slashes',
    schema: text,
    example: 'messages.js',
  },
  service_name: {description: 'a service', schema: {type: 'string', pattern: SERVICE_NAME}, example: 'mailer'},
  sandbox_id: {description: 'a sandbox', schema: text, example: 'b3f0a1c2d4e5'},
  session_id: {
    description: 'a session; its id names its tenant',
    schema: text,
    example: 'acme.5d2c8f0b6a7e4c1d9f3b2a1c0e8d7f6a',
  },
  'dashboard.session_id': {description: 'a session of the dashboard', schema: text, example: 'h7p4n2qxwzrt'},
  key_id: {description: 'a key', schema: text, example: 'k3m9x2abcdef'},
  path: {description: 'the rest of the path, slashes included', schema: {type: 'string'}, example: 'hello'},
  file: {description: 'a file of the page', schema: text, example: 'swagger-ui.css'},
};

export const HEADER_PARAMETERS = {
  'X-Request-Id': {
    description: 'What the answer and the server’s log call this request; chosen by the server when missing.',
    schema: {type: 'string', maxLength: REQUEST_ID_CHARS_MAX, pattern: '^[\\x20-\\x7e]*$'},
  },
  'Idempotency-Key': {
    description:
      'Printable ASCII. The same request with the same key within 24 hours changes nothing and gets the first reply again, without its ' +
      '`ETag`; another request with it is 409.',
    schema: {type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_CHARS_MAX, pattern: '^[\\x20-\\x7e]+$'},
  },
  'If-Match': {
    description: 'Only if this is the present version: an `ETag`, a list of them, or `*` for any. Else 412.',
    schema: {type: 'string'},
  },
  'If-None-Match': {
    description:
      'Only if none of these is the present version: an `ETag`, a list of them, or `*`. Else 304 of a read, 412 of a write.',
    schema: {type: 'string'},
  },
  'Last-Event-ID': {
    description: 'The `id` of the last event that was read: the answer goes on after it.',
    schema: {type: 'string'},
  },
} as const;

/** Parameters of these operations alone. */
const OWN: Partial<Record<Name, Schema[]>> = {
  socket: [
    {
      name: 'tenant_id',
      in: 'query',
      description: 'the tenant, unless `X-Tenant-Id` says it',
      schema: PATH.tenant_id.schema,
      example: 'acme',
    },
    {
      name: 'X-Tenant-Id',
      in: 'header',
      description: 'the tenant; it wins over `tenant_id`',
      schema: PATH.tenant_id.schema,
    },
    subprotocol(PROTOCOL),
  ],
  'functions.socket': [subprotocol(FUNCTION_PROTOCOL)],
  'functions.preflight': [
    {
      name: 'Origin',
      in: 'header',
      description: 'of the page',
      schema: {type: 'string'},
      example: 'https://app.example',
    },
    {
      name: 'Access-Control-Request-Method',
      in: 'header',
      description: 'the method that the page is about to use',
      schema: {type: 'string'},
      example: 'POST',
    },
  ],
};

function subprotocol(name: string): Schema {
  return {
    name: 'Sec-WebSocket-Protocol',
    in: 'header',
    required: true,
    description: `offers ${name}`,
    schema: {type: 'string'},
    example: name,
  };
}

export function parametersOf(route: DescribedRoute, example: Example, schemas: Schemas): Schema[] {
  const {name, path, method, traits} = route;
  const headers: (keyof typeof HEADER_PARAMETERS)[] = ['X-Request-Id'];
  if (OPERATION_TEXTS[name].takesKey) headers.push('Idempotency-Key');
  if (traits?.takesConditions || 'not_modified' in route.variants) {
    headers.push('If-None-Match');
    if (method !== 'get') headers.push('If-Match');
  }
  if (traits?.takesLastEventId) headers.push('Last-Event-ID');
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => inPath(name, parameter!, example)),
    ...inQuery(name, example, schemas),
    ...(OWN[name] ?? []),
    ...headers.map(header => ({$ref: `#/components/parameters/${header}`})),
  ];
}

function inPath(operation: Name, name: string, example: Example): Schema {
  const [group] = operation.split('.');
  const known = PATH as Record<string, Parameter>;
  const parameter = known[`${group}.${name}`] ?? known[name];
  if (parameter === undefined)
    throw new Error(`${name} of ${operation} has no description (build/openapi/parameters.ts)`);
  const {description, schema} = parameter;
  return {name, in: 'path', required: true, description, schema, example: example.path?.[name] ?? parameter.example};
}

function inQuery(operation: Name, example: Example, schemas: Schemas): Schema[] {
  const {query}: OperationTypes = OPERATION_TYPES[operation];
  if (query === undefined) return [];
  const {properties, required = []} = query as unknown as {properties: Record<string, object>; required?: string[]};
  return Object.entries(properties).map(([name, type]) => {
    const {description, ...schema} = schemas.of(type as never);
    const value = example.query?.[name];
    return {
      name,
      in: 'query',
      ...(required.includes(name) ? {required: true} : {}),
      ...(description === undefined ? {} : {description}),
      schema,
      ...(value === undefined ? {} : {example: value}),
    };
  });
}
