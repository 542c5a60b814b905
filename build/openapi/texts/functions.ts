/** Texts of the function endpoints, deployments, and what belongs to them. */
import type {Named, OperationTexts} from './text.ts';

const MESSAGE = {
  _id: '06a2s60d2xqxk3smxa8kqf6vw8',
  _creationTime: 1_800_000_000_000,
  _updateTime: 1_800_000_000_000,
  text: 'hello',
};
const NO_CHANGES = {tables: {declared: [], undeclared: []}, indexes: {added: [], dropped: []}};
const HASH = '4be1a2f0c3d5e6978a9bacbdcedfe0f1a2b3c4d5e6f708192a3b4c5d6e7f8091';
const SEND = {path: 'messages:send', args: {text: 'hello'}};
const DEPLOYED = {operation: 'deployments.create', values: {tenant_id: '$request.path.tenant_id'}};
/** The SHA-512 of an empty file. */
const NO_BYTES_SHA512 =
  'cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e';

/** The smallest deployable module, without the registrars of `svc/server`, which `svc deploy` bundles. */
const REGISTERED = `const registered = (kind, handler) => Object.assign(() => {}, {
  isSvcFunction: true, kind, visibility: 'public', exportArgs: () => 'null', exportReturns: () => 'null', _handler: handler,
});
`;
const MESSAGES = `${REGISTERED}
export const list = registered('query', ctx => ctx.db.query('messages').take(10));
export const page = registered('paginatedQuery', (ctx, args) => ctx.db.query('messages').paginate(args.paginationOpts));
export const send = registered('mutation', (ctx, {text}) => ctx.db.insert('messages', {text}));
export const ping = registered('action', async () => 'pong');
`;
const HTTP = `${REGISTERED}
const handler = registered('httpAction', async () => new Response('hello'));
const paths = ['/', '/hello'];
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const routes = paths.flatMap(path => methods.map(method => ({method, path, pathPrefix: null, handler})));
export default {isSvcRouter: true, _routes: () => routes};
`;
const UPLOAD = {
  files: [
    {path: 'http.js', source: HTTP, sourceMap: null},
    {path: 'messages.js', source: MESSAGES, sourceMap: null},
  ],
  modules: ['http', 'messages'],
  schema: null,
  authConfig: null,
  modifiedMs: 1_800_000_000_000,
  message: 'first',
  dryRun: false,
};
const LIST = {
  path: 'messages:list',
  module: 'messages',
  name: 'list',
  kind: 'query',
  visibility: 'public',
  args: null,
  returns: null,
  hash: HASH,
};
const DEPLOYMENT = {
  id: 1,
  created_at: 1_800_000_000_000,
  activated_at: 1_800_000_000_100,
  active: true,
  message: 'first',
  development: false,
  functions: 4,
  hash: HASH,
};
const LOG_ENTRY = {
  n: 1,
  at: 1_800_000_000_000,
  request_id: 'r-1',
  path: 'messages:send',
  kind: 'mutation',
  caller: 'client',
  outcome: 'success',
  duration_ms: 1.5,
  error: null,
  lines: [],
  call_id: '8f3c2a91d0-1',
  parent_call_id: null,
  trace_id: 'r-1',
};
const ONE = {operation: 'deployments.create', values: {deployment_id: '$response.body#/id'}};
const VARIABLE_FROM = {operation: 'env.set', values: {name: '$request.path.name'}};
const AUTH_PROVIDER = {
  type: 'oidc',
  issuer: 'https://login.example.com',
  application_id: 'my-app',
  jwks: 'https://login.example.com/.well-known/openid-configuration',
  algorithms: ['RS256', 'ES256', 'PS256', 'EdDSA'],
};
const SETTINGS = {egress: {allow: [], deny: ['10.0.0.0/8']}, allowed_origins: ['https://app.example']};

export const FUNCTION_TEXTS: OperationTexts<Exclude<Named<'functions'>, 'functions.socket'>> = {
  'functions.query': {
    summary: 'Run a query function',
    description:
      'The token in `Authorization` is signed by one of the tenant’s auth providers; without a token the ' +
      'caller is anonymous. If the function throws, the call succeeds and `status` is `error`.',
    example: {body: {path: 'messages:list', args: {}}, answer: {status: 'success', value: [MESSAGE]}, from: DEPLOYED},
  },
  'functions.paginated': {
    summary: 'Run a paginated query function',
    example: {
      body: {path: 'messages:page', args: {paginationOpts: {numItems: 10, cursor: null}}},
      answer: {status: 'success', value: {page: [MESSAGE], isDone: true, continueCursor: ''}},
      from: DEPLOYED,
    },
  },
  'functions.mutation': {
    summary: 'Run a mutation',
    description: 'Its writes are one commit, or none. `Idempotency-Key` has no effect.',
    example: {body: SEND, answer: {status: 'success', value: MESSAGE._id}, from: DEPLOYED},
  },
  'functions.action': {
    summary: 'Run an action',
    example: {
      body: {path: 'messages:ping', args: {}},
      answer: {status: 'success', value: 'pong', logLines: ["[LOG] 'pinged'"]},
      from: DEPLOYED,
    },
  },
  'functions.schedule': {
    summary: 'Schedule a mutation',
    description: 'After a delay (`run_after`), or at a time (`run_at`).',
    errors: ['op.rate_limited'],
    example: {body: {...SEND, delayMs: 3_600_000}, answer: {jobId: 'c8b1e6a0f2d94c37a5e8b6d1f0a29374'}, from: DEPLOYED},
    others: {
      run_at: {
        body: {...SEND, timestampMs: 1_900_000_000_000},
        answer: {jobId: 'c8b1e6a0f2d94c37a5e8b6d1f0a29374'},
        from: DEPLOYED,
      },
    },
  },
  'functions.unschedule': {
    summary: 'Cancel a scheduled mutation',
    description:
      'Allowed for the caller who scheduled it (the same identity, or none) and with the admin token; ' +
      'others get 404.',
    errors: ['op.not_found'],
    example: {from: {operation: 'functions.schedule.run_after', values: {job_id: '$response.body#/jobId'}}},
  },
  'functions.http': {
    summary: 'Call an HTTP action',
    description:
      'Takes any method and any path below `/http`, slashes included; the app’s router (`svc/http.ts`) ' +
      'decides. Status, headers and body are the app’s own; the errors listed here are those of the ' +
      'service.',
    errors: ['op.not_found', 'op.too_large'],
    example: {path: {path: 'hello'}, from: DEPLOYED},
  },
  'functions.preflight': {
    summary: 'Answer a browser’s CORS preflight for this path',
    example: {from: DEPLOYED},
  },
  'functions.list': {
    tag: 'deployments',
    summary: 'Functions of the active deployment',
    example: {answer: {deployment: 1, functions: [LIST]}},
  },
  'functions.watch': {
    tag: 'deployments',
    summary: 'The result of any query, as any user, now and after each change',
    description:
      'Server-sent events: `data` is the reply and why the query ran, `id` the version that it read. Internal queries ' +
      'are included. The last event is `end` with an `error`. The stream ends after `limit` results; without `limit` ' +
      'it does not end.',
    example: {
      query: {limit: 1},
      body: {path: 'messages:list', identity: {subject: 'ada'}},
      answer: {status: 'success', value: [MESSAGE], logLines: [], because: {cause: 'added'}},
      from: DEPLOYED,
    },
  },
  'functions.run': {
    tag: 'deployments',
    summary: 'Run any function, as any user',
    description: 'Internal functions are included. `ctx.auth.getUserIdentity()` returns `identity`.',
    example: {
      body: {...SEND, identity: {subject: 'ada'}},
      answer: {status: 'success', value: MESSAGE._id},
      from: DEPLOYED,
    },
  },
};

export const DEPLOYMENT_TEXTS: OperationTexts<
  Named<'deployments' | 'packages' | 'env' | 'logs' | 'settings' | 'auth' | 'limits' | 'tables'>
> = {
  'deployments.create': {
    summary: 'Deploy functions',
    description:
      'Checks the upload, validates existing documents against its schema, fills its indexes and activates ' +
      'it, all or nothing. `svc deploy` creates the upload; the example is the smallest that works. If it ' +
      'is refused, `detail.errors` lists every reason. With `"dryRun": true` everything is checked and ' +
      'nothing changes.',
    errors: ['op.schema_violation', 'op.conflict'],
    example: {
      body: UPLOAD,
      answer: {...DEPLOYMENT, changes: NO_CHANGES},
      variants: {dry_run: {dry_run: true, functions: [LIST], changes: NO_CHANGES}},
    },
  },
  'deployments.list': {
    summary: 'Stored deployments, newest first',
    example: {answer: {deployments: [DEPLOYMENT]}, from: DEPLOYED},
  },
  'deployments.progress': {
    summary: 'Current steps of unfinished deploys',
    example: {
      answer: {deploys: [{request_id: 'r-1', step: 'activating', detail: null, since: 1_800_000_000_000}]},
    },
  },
  'deployments.files': {
    tag: 'deployments',
    summary: 'Files of a deployment',
    description: 'The original sources that came with the upload, and the bundle that runs.',
    errors: ['op.not_found'],
    example: {answer: {files: [{path: 'svc/messages.ts', kind: 'source', bytes: 412, sha256: HASH}]}, from: ONE},
  },
  'deployments.file': {
    tag: 'deployments',
    summary: 'A file of a deployment',
    description: 'A source if there is one of this path, otherwise a file of the bundle.',
    errors: ['op.not_found'],
    example: {answer: {path: 'messages.js', kind: 'bundle', sha256: HASH, text: MESSAGES}, from: ONE},
  },
  'deployments.diff': {
    tag: 'deployments',
    summary: 'What differs between two deployments',
    errors: ['op.not_found'],
    example: {
      answer: {
        from: 1,
        to: 2,
        files: [{path: 'svc/messages.ts', kind: 'source', change: 'changed', bytes_before: 400, bytes_after: 412}],
        functions: [{path: 'messages:send', change: 'changed'}],
        tables: [{name: 'messages', change: 'changed'}],
        indexes: [{table: 'messages', name: 'by_author', fields: ['author'], change: 'added'}],
        routes: [{method: 'GET', path: '/hello', change: 'added'}],
        auth_providers: [{issuer: 'https://login.example.com', change: 'added'}],
        variables: [{name: 'API_KEY', change: 'added'}],
      },
      from: {
        operation: 'deployments.create',
        values: {deployment_id: '$response.body#/id', other_id: '$response.body#/id'},
      },
    },
  },
  'deployments.preview': {
    tag: 'deployments',
    summary: 'What activating a deployment would do',
    description:
      'Runs the checks of an activation against the documents of this moment, and changes nothing. It also lists ' +
      'pending jobs, crons and variables that do not fit the deployment; an activation does not check these.',
    errors: ['op.not_found'],
    example: {
      answer: {
        deployment: 1,
        active: 2,
        errors: [],
        changes: NO_CHANGES,
        builds: [{table: 'messages', name: 'by_author', fields: ['author'], documents: 1_200}],
        missing_functions: [{path: 'messages:archive', jobs: 3}],
        failing_crons: [],
        missing_variables: ['API_KEY'],
      },
      from: ONE,
    },
  },
  'deployments.activate': {
    summary: 'Activate an earlier deployment',
    errors: ['op.not_found', 'op.schema_violation', 'op.conflict'],
    example: {
      answer: DEPLOYMENT,
      from: ONE,
    },
  },
  'packages.missing': {
    summary: 'List the packages that must be sent before a deploy',
    description: 'Packages that the server already has stay for at least an hour.',
    example: {body: {packages: [NO_BYTES_SHA512]}, answer: {missing: [NO_BYTES_SHA512]}},
  },
  'packages.put': {
    summary: 'Send a package’s tarball',
    description:
      'The tarball as it was published. If its SHA-512 differs from the one in the path, the answer is ' +
      '400. (The example is the digest of an empty file.)',
    errors: ['op.rate_limited'],
    example: {path: {sha512: NO_BYTES_SHA512}},
  },
  'env.list': {summary: 'All variables', example: {answer: {env: {API_KEY: 'secret'}}}},
  'env.get': {
    summary: 'A variable',
    errors: ['op.not_found'],
    example: {answer: {name: 'API_KEY', value: 'secret'}, from: VARIABLE_FROM},
  },
  'env.set': {
    summary: 'Set a variable',
    errors: ['op.rate_limited'],
    example: {body: {value: 'secret'}},
  },
  'env.delete': {
    summary: 'Delete a variable',
    errors: ['op.not_found'],
    example: {from: VARIABLE_FROM},
  },
  'logs.read': {
    summary: 'Executions of functions',
    description:
      'Lines of JSON. With `follow=true` the answer continues after the history, which ends with an empty ' +
      'line. The other parameters search the entries on disk: executions that failed or wrote a line, and ' +
      'those that called such a one. `trace_id` selects all executions that one request led to, also as jobs; ' +
      '`parent_call_id` makes a tree of them.',
    example: {
      query: {history: 100, follow: 'false'},
      answer: LOG_ENTRY,
      from: {operation: 'functions.run', values: {}},
    },
  },
  'limits.get': {
    summary: 'The limits of the tenant, and how much of them is used',
    description: 'Those that apply to one request have no use. docs/limits.md lists all limits of the server.',
    example: {
      answer: {
        limits: [
          {
            name: 'stored',
            area: 'storage',
            unit: 'bytes',
            limit: 10737418240,
            used: 139264,
            meaning: '--tenant-storage-max; beyond it writes get 507',
          },
        ],
      },
    },
  },
  'auth.get': {
    summary: 'The auth providers of the active deployment',
    example: {answer: {providers: [AUTH_PROVIDER]}},
  },
  'auth.check': {
    summary: 'Check a token as calls of functions do, and say which check fails',
    description:
      'The checks are those of calls, in their order, with the same keys. After the first failure the others are ' +
      'skipped. The token is not stored or logged, and an expired one is safe to send. Providers that do not answer ' +
      'are a failed check, not an error.',
    example: {
      body: {token: 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJodHRwczovL290aGVyLmV4YW1wbGUifQ.c2lnbmF0dXJl'},
      answer: {
        is_valid: false,
        checks: [
          {
            check: 'form',
            outcome: 'failed',
            text: 'The token has no subject (`sub`) claim',
            to_do:
              'Use a signed JWT as the provider issues it: three parts, a header with alg and kid, claims with iss, sub and exp.',
          },
          {check: 'issuer', outcome: 'skipped', text: '', to_do: null},
        ],
        header: {alg: 'RS256', kid: '1'},
        claims: {iss: 'https://other.example'},
        identity: null,
      },
    },
  },
  'settings.get': {summary: 'The settings', example: {answer: SETTINGS}},
  'settings.put': {
    summary: 'Set the settings',
    description:
      '`allowed_origins` lists the pages that can call functions; null allows all. An absent member keeps ' +
      'its value.',
    example: {body: SETTINGS},
  },
  'tables.drop': {
    summary: 'Drop a table: its documents, then its schema and indexes',
    description:
      'Starts a task that runs in slices after the answer and continues after a crash. If documents are ' +
      'created in the meantime, they and the schema stay, and the task fails with `op.conflict`. 404: the ' +
      'table does not exist. 409: the active deployment declares it.',
    errors: ['op.not_found', 'op.conflict', 'op.rate_limited'],
    takesKey: true,
    example: {
      path: {table: 'cities'},
      answer: {id: '06a2s60d2xqxk3smxa8kqf6vw8'},
      from: {operation: 'documents.insert', values: {table: '$request.body#/table'}},
    },
  },
  'tables.rename': {
    summary: 'Rename a table',
    description:
      'One commit, however many documents the table has. Document ids, schema, indexes and earlier journal ' +
      'records stay. 404: the table does not exist. 409: a table of the new name exists, the active ' +
      'deployment declares one of the two or ids of it, or a task, an import, a cron or a job will write ' +
      'there.',
    errors: ['op.not_found', 'op.conflict'],
    takesKey: true,
    example: {
      path: {table: 'cities'},
      body: {to: 'towns'},
      from: {operation: 'documents.insert', values: {table: '$request.body#/table'}},
    },
  },
  'tables.list': {
    tag: 'documents',
    summary: 'Tables, and how many documents each has',
    example: {answer: {tables: [{name: 'cities', documents: 1}]}},
  },
};
