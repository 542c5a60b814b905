/**
 * Generates the OpenAPI 3.1 document of the complete API at build time. Its sources are three tables: operations
 * (`shared/operations.ts`), their wire types (`shared/operation-types.ts`) and their descriptions
 * (`build/openapi/operation-texts.ts`).
 */
import {globSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {BODY_BYTES_MAX, TENANT_FILE_BYTES_MAX, URL_BYTES_MAX} from '../../shared/limits.ts';
import {OPERATION_TYPES, type OperationTypes} from '../../shared/operation-types.ts';
import {ErrorEnvelope} from '../../shared/protocol/error-envelope.ts';
import {RIGHTS} from '../../shared/rights.ts';
import {ErrorResponses, errorCodesOf, RATE_LIMIT} from './error-codes.ts';
import {linksBySource} from './links.ts';
import {OPERATION_TEXTS} from './operation-texts.ts';
import {HEADER_PARAMETERS, parametersOf} from './parameters.ts';
import {type DescribedRoute, describedRoutes, type Name} from './routes.ts';
import {type Schema, Schemas} from './schemas.ts';
import {type Example, TAGS, tagOf} from './texts/text.ts';

export type OpenApiDocument = {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
} & Schema;

const JSON_TYPE = 'application/json';
const MIB = 1024 ** 2;

const ABOUT = `A multi-tenant document service. Bodies are JSON, whatever their content type says, and ${BODY_BYTES_MAX / MIB} MiB at most unless the operation says otherwise;
URLs have ${URL_BYTES_MAX} bytes at most.

- Members of bodies that are not known are passed over, except where the schema forbids them; so are unknown parameters of the query string, except by streams of events, imports and exports. \`null\` in
  the place of an optional member is its absence. Answers may get members that are not described here: pass over them.
- Every error is an envelope with a \`code\` for programs and a \`message\` for people. Of several that apply the first in this order is given: 403 of the
  origin, 404 and 405 of the route, 401, 404 of the tenant, 429 of a rate limit, 415, 413 and 400 of the body, then what the data says.
- A path that is not described here is 404 \`op.not_found\`; one that is, with another method, 405 \`op.method_not_allowed\` with \`Allow\`.
  \`HEAD\` is answered wherever \`GET\` is, without the body.
- A request with an \`Origin\` is answered 403 unless pages of it may call the API; preflights of accepted origins are answered 204. Below \`/svc/\` that rule does not apply.`;

/** @param root of the sources, @param version of svc */
export async function openApiDocument(root: string, version: string): Promise<OpenApiDocument> {
  const files = globSync('shared/protocol/**/*.ts', {cwd: root}).sort();
  const modules = await Promise.all(files.map(file => import(pathToFileURL(join(root, file)).href)));
  const schemas = new Schemas(modules as Record<string, unknown>[]);
  const errors = new ErrorResponses(schemas.of(ErrorEnvelope));
  const routes = describedRoutes();
  const links = linksBySource(routes);
  const paths: Record<string, Record<string, Schema>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method] = operationOf(route, schemas, errors, links.get(route.id) ?? {});
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'svc',
      version,
      summary: 'A self-hosted, multi-tenant, reactive document service',
      description: ABOUT,
      license: {name: 'Apache-2.0', identifier: 'Apache-2.0'},
    },
    servers: [{url: '/', description: 'the server that this document is from'}],
    tags: Object.entries(TAGS).map(([name, description]) => ({name, description})),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: Object.fromEntries(
        Object.entries(HEADER_PARAMETERS).map(([name, parameter]) => [name, {name, in: 'header', ...parameter}]),
      ),
      headers: HEADERS,
      responses: errors.components,
      schemas: schemas.components,
    },
  };
}

const SECURITY_SCHEMES: Record<string, Schema> = {
  access_token: {
    type: 'http',
    scheme: 'bearer',
    description: '`access_token` of `admin.json` in the data directory, or a key with the scopes that are named.',
  },
  admin_token: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Svc-Admin-Token',
    description: '`admin_token` of `admin.json` in the data directory, or a key with the scopes that are named.',
  },
  user_token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Of a user of the tenant, signed by one of its auth providers.',
  },
};
/** Each scheme with the scopes that a key needs for it. */
function securityOf({name, access}: DescribedRoute): Schema[] {
  if (access === 'open') return [];
  if (access === 'deployment') return [{}, {user_token: []}, {admin_token: []}];
  const {scopes} = RIGHTS[name];
  return [{access_token: scopes}, {admin_token: scopes}];
}

const HEADERS: Record<string, Schema> = {
  'X-Request-Id': {description: 'as sent, or chosen by the server', required: true, schema: {type: 'string'}},
  'Retry-After': {description: 'seconds until it may be tried again', schema: {type: 'integer', minimum: 1}},
  'WWW-Authenticate': {description: 'Bearer', required: true, schema: {type: 'string'}},
  'RateLimit-Policy': {description: 'how much the tenant may ask, where that is limited', schema: {type: 'string'}},
  RateLimit: {description: 'how much of it is left', schema: {type: 'string'}},
  ETag: {description: 'the version', schema: {type: 'string'}},
};
const CORS: Record<string, Schema> = {
  'Access-Control-Allow-Origin': {description: 'pages that may read the answer', schema: {type: 'string'}},
  'Access-Control-Expose-Headers': {description: 'headers that they may read', schema: {type: 'string'}},
  Vary: {description: '`Origin`, where the answer depends on it', schema: {type: 'string'}},
};
const CACHING: Schema = {description: 'how long it may be kept', schema: {type: 'string'}};
const SHIPPED: Record<string, Schema> = {
  'Cache-Control': CACHING,
  'Content-Encoding': {description: '`gzip`, if the client accepts it', schema: {type: 'string'}},
  Vary: {description: 'what the answer depends on', schema: {type: 'string'}},
  'X-Content-Type-Options': {description: '`nosniff`', schema: {type: 'string'}},
};
/** Headers of these operations' answers alone. */
const OWN_HEADERS: Partial<Record<Name, Record<string, Schema>>> = {
  'docs.page': {
    'Content-Security-Policy': {description: 'nothing but this server', schema: {type: 'string'}},
    'Referrer-Policy': {description: '`no-referrer`', schema: {type: 'string'}},
  },
  'exports.file': {
    'X-Svc-File-Bytes': {description: 'the length of the complete file', schema: {type: 'integer'}},
    'X-Svc-File-Sha256': {description: 'its SHA-256, 64 hex characters', schema: {type: 'string'}},
  },
  'exports.run': {
    'X-Svc-Sequence': {
      description: 'the sequence of the journal that the export is of: go on with the records after it',
      schema: {type: 'integer', minimum: 0},
    },
  },
};
const EVENTS: Record<string, Schema> = {
  'Cache-Control': CACHING,
  'X-Accel-Buffering': {description: '`no`: proxies are to pass events on at once', schema: {type: 'string'}},
};
const PREFLIGHT: Record<string, Schema> = {
  'Access-Control-Allow-Methods': {description: 'methods that they may use', schema: {type: 'string'}},
  'Access-Control-Allow-Headers': {description: 'headers that they may send', schema: {type: 'string'}},
  'Access-Control-Max-Age': {description: 'seconds for which this holds', schema: {type: 'integer'}},
};

function operationOf(route: DescribedRoute, schemas: Schemas, errors: ErrorResponses, links: Schema): Schema {
  const {name, id, takesBody, parameter} = route;
  const text = OPERATION_TEXTS[name];
  const {summary, description, example: first, others = {}} = text;
  const example = others[parameter ?? ''] ?? first;
  const body = takesBody ? bodyOf(route, example, schemas) : null;
  return {
    operationId: id,
    tags: [tagOf(name, text)],
    summary,
    ...(description === undefined ? {} : {description}),
    security: securityOf(route),
    parameters: parametersOf(route, example, schemas),
    ...(body === null ? {} : {requestBody: body}),
    responses: {
      ...successesOf(route, example, schemas, links),
      ...withCors(errors.of(errorCodesOf(name, route)), isCors(route), errors),
      ...(name === 'functions.http' ? {default: APPS_ANSWER} : {}),
    },
  };
}

const ANY_CONTENT = {content: {'*/*': {}}};
const APPS_ANSWER = {description: 'what the app answers', ...ANY_CONTENT};

function bodyOf({name, parameter, traits}: DescribedRoute, {body}: Example, schemas: Schemas): Schema | null {
  const types: OperationTypes = OPERATION_TYPES[name];
  const type = types.bodies?.[parameter ?? ''] ?? types.body;
  if (type !== undefined) return {required: true, content: {[JSON_TYPE]: {schema: schemas.of(type), example: body}}};
  const bytesMax = traits?.streamedBytesMax ?? (types.bodyMedia === undefined ? undefined : TENANT_FILE_BYTES_MAX);
  if (bytesMax === undefined) return null;
  const limit = `at most ${bytesMax / MIB} MiB`;
  const {bodyMedia = ['application/octet-stream']} = types;
  // The example belongs to the first of them.
  const example = body === undefined ? {} : {schema: {type: 'string'}, example: body};
  return {
    description: limit,
    content: Object.fromEntries(bodyMedia.map((media, i) => [media, i === 0 ? example : {}])),
  };
}

function successesOf(route: DescribedRoute, example: Example, schemas: Schemas, links: Schema): Record<string, Schema> {
  const {name, success, variants} = route;
  const {answer, variants: types = {}, media = JSON_TYPE, otherMedia = {}}: OperationTypes = OPERATION_TYPES[name];
  const headers = successHeaders(route);
  const withLinks = Object.keys(links).length === 0 ? {} : {links};
  const response = (status: number, what: string, type: typeof answer, value: unknown): Schema => ({
    description: what,
    headers: status === SWITCHING_PROTOCOLS ? {} : headers,
    ...withOthers(contentOf(status, type, media, value, schemas), otherMedia),
    ...withLinks,
  });
  const responses = {[success]: response(success, MEANING[success] ?? 'done', answer, example.answer)};
  for (const [variant, status] of Object.entries(variants)) {
    const value = example.variants?.[variant];
    responses[status] = response(status, VARIANT_MEANING[variant] ?? variant, types[variant], value);
  }
  return responses;
}

const SWITCHING_PROTOCOLS = 101;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
const MEANING: Record<number, string> = {
  101: 'the connection is a WebSocket',
  200: 'done',
  201: 'made',
  204: 'done; there is no body',
};
const VARIANT_MEANING: Record<string, string> = {
  not_modified: 'it is what `If-None-Match` names; there is no body',
  created: 'it was not there, and was made',
  dry_run: 'of a dry run: what would have been',
};

function contentOf(
  status: number,
  type: OperationTypes['answer'],
  media: string,
  value: unknown,
  schemas: Schemas,
): Schema {
  if (status === NO_CONTENT || status === NOT_MODIFIED || status === SWITCHING_PROTOCOLS) return {};
  if (media === '*/*') return ANY_CONTENT;
  const example = value === undefined ? {} : {example: value};
  const [mediaType = media] = media.split(';');
  if (type === undefined)
    return media === JSON_TYPE ? {} : {content: {[mediaType]: {schema: {type: 'string'}, ...example}}};
  const schema = schemas.of(type);
  if (media === JSON_TYPE) return {content: {[mediaType]: {schema, ...example}}};
  // A text of many such values; OpenAPI 3.1 can only say that it is a string.
  const text = mediaType === 'text/event-stream' ? `data: ${JSON.stringify(value)}\n\n` : `${JSON.stringify(value)}\n`;
  return {content: {[mediaType]: {schema: {type: 'string'}, 'x-item-schema': schema, example: text}}};
}

function withOthers(described: Schema, media: Readonly<Record<string, string>>): Schema {
  const others = Object.entries(media).map(([type, example]) => [type, {schema: {type: 'string'}, example}]);
  return others.length === 0 ? described : {content: {...(described.content as Schema), ...Object.fromEntries(others)}};
}

/** Whether pages of other origins can call it. */
function isCors({name, traits}: DescribedRoute): boolean {
  return traits?.hasCors === true || name === 'functions.preflight';
}

function successHeaders(route: DescribedRoute): Record<string, Schema> {
  const {name, method, traits, variants} = route;
  const {media}: OperationTypes = OPERATION_TYPES[name];
  const hasVersion = 'not_modified' in variants || (traits?.takesConditions === true && method !== 'delete');
  return {
    'X-Request-Id': {$ref: '#/components/headers/X-Request-Id'},
    ...(hasVersion ? {ETag: {$ref: '#/components/headers/ETag'}} : {}),
    ...(route.traits !== null && name !== 'functions.preflight' ? RATE_LIMIT : {}),
    ...(isCors(route) ? CORS : {}),
    ...(tagOf(name, OPERATION_TEXTS[name]) === 'server' && 'not_modified' in variants ? SHIPPED : {}),
    ...(OWN_HEADERS[name] ?? {}),
    ...(media === 'text/event-stream' ? EVENTS : {}),
    ...(name === 'functions.preflight' ? PREFLIGHT : {}),
  };
}

/** If pages of other origins can call an operation, they can read its errors, too. */
function withCors(responses: Record<string, Schema>, hasCors: boolean, errors: ErrorResponses): Record<string, Schema> {
  if (!hasCors) return responses;
  return Object.fromEntries(
    Object.entries(responses).map(([status, {$ref}]) => {
      const name = String($ref).split('/').at(-1)!;
      const shared = errors.components[name] as {headers: Schema};
      errors.components[`${name}-cors`] = {...shared, headers: {...shared.headers, ...CORS}};
      return [status, {$ref: `${String($ref)}-cors`}];
    }),
  );
}
