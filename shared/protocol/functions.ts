/**
 * The types that the parts of the function platform exchange: a deploy's upload, the result of its analysis, and the
 * bodies and answers of the deployment's and the admin's HTTP routes.
 */
import Type, {type Static} from 'typebox';
import {CONSOLE_LEVELS} from '../console-levels.ts';
import type {NodeVersion} from '../node-version.ts';
import type {Runtime} from '../runtime-directive.ts';
import type {ValidatorJson} from '../values/validator.ts';

/** How a function was registered. An HTTP action is reachable only through the router of `svc/http.ts`. */
export const FunctionKind = Type.Enum(['query', 'paginatedQuery', 'mutation', 'action', 'httpAction']);
export type FunctionKind = Static<typeof FunctionKind>;
export const Visibility = Type.Enum(['public', 'internal']);
export type Visibility = Static<typeof Visibility>;

/* ── upload: POST /api/tenants/{tenant_id}/deployments ── */

/** One file of the bundle, as esbuild wrote it: an ES module that imports others of the bundle by relative path. */
export type BundleFile = {
  /** Below the bundle's root: `messages.js`, `a/b.js`, `_deps/chunk-ABC.js`. */
  path: string;
  source: string;
  /**
   * Source map (version 3) as JSON text; `sources` are relative to the project, for example `svc/messages.ts`. Null:
   * none.
   */
  sourceMap: string | null;
};

/**
 * A package that modules for Node import and that is not bundled. Its tarball was sent earlier, or the server has it
 * already.
 */
export type UploadedPackage = NodePackage & {
  /** Its dependents work without it if it contains native code. */
  optional?: boolean;
};

/** A file of the project as it is written, for people to read. */
export type SourceFile = {
  /** Relative to the project: `svc/messages.ts`. */
  path: string;
  text: string;
};

export type DeploymentUpload = {
  files: BundleFile[];
  /** Missing: an older client sends none. */
  sources?: SourceFile[];
  /** Module paths (no extension) whose exports are functions: `messages`, `a/b`, `http`. In code unit order. */
  modules: string[];
  /** Where each module runs, by its path. Missing modules run in the default runtime. */
  runtimes?: Record<string, Runtime>;
  /**
   * The modules that run in Node, at least one. Their files are not shared with others; files that they share are below
   * `_deps/node/`.
   */
  node?: {version: NodeVersion; packages?: UploadedPackage[]};
  /** Module path of the schema (`schema`), or null. It is in `files`, not in `modules`. */
  schema: string | null;
  /** Module path of the auth config (`auth.config`), or null. */
  authConfig: string | null;
  /** The newest modification time of the project's sources: the deployment timestamp, epoch milliseconds. */
  modifiedMs: number;
  /** The purpose of the deploy, shown in the history. At most DEPLOYMENT_MESSAGE_CHARS_MAX. */
  message: string | null;
  /** Check everything, change nothing. */
  dryRun: boolean;
  /** A deploy made by a developer's save: the history drops these first. Missing: false. */
  development?: boolean;
};

/** One reason why a deployment was refused. `file` and `line` refer to the project's sources, if they are known. */
export type DeploymentError = {message: string; file: string | null; line: number | null};

/* ── analysis ── */

/** A validator's serialised form, see `values/validator.ts`. */
export const Validator = Type.Unsafe<ValidatorJson>(
  Type.Cyclic(
    {
      Validator: Type.Union([
        Type.Object({type: Type.Enum(['any', 'null', 'string', 'number', 'boolean'])}),
        Type.Object({type: Type.Literal('id'), tableName: Type.String()}),
        Type.Object({
          type: Type.Literal('literal'),
          value: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
        }),
        Type.Object({type: Type.Literal('array'), value: Type.Ref('Validator')}),
        Type.Object({
          type: Type.Literal('object'),
          value: Type.Record(Type.String(), Type.Object({fieldType: Type.Ref('Validator'), optional: Type.Boolean()})),
        }),
        Type.Object({type: Type.Literal('union'), value: Type.Array(Type.Ref('Validator'))}),
      ]),
    },
    'Validator',
  ),
);

export const FunctionEntry = Type.Object({
  path: Type.String({description: 'canonical: `a/b:f`; a default export is `a/b:default`'}),
  module: Type.String({description: '`a/b`, the module path'}),
  name: Type.String({description: '`f` or `default`'}),
  kind: FunctionKind,
  visibility: Visibility,
  args: Type.Union([Validator, Type.Null()], {description: 'null: nothing was declared, nothing is checked'}),
  returns: Type.Union([Validator, Type.Null()]),
  hash: Type.String({
    description: "changes when the function's module, or anything that module imports, changes: SHA-256, hex",
  }),
  runtime: Type.Optional(Type.Literal('node', {description: 'missing: it runs in the default runtime'})),
});
export type FunctionEntry = Static<typeof FunctionEntry>;

export type NodePackage = {
  /** Its path, relative to the bundle's files: `node_modules/a`, `node_modules/a/node_modules/@b/c`. */
  path: string;
  version: string;
  /** The tarball's digest, hex: the lock file's integrity. */
  sha512: string;
};

/** The part of a deployment that runs in Node. */
export type NodePart = {
  version: NodeVersion;
  /** All their code, by path in the bundle. */
  files: {path: string; sha256: string}[];
  /** Missing: all packages are in the bundle. */
  packages?: NodePackage[];
};

export type HttpRoute = {
  method: string;
  /** Exactly one of the two is set. */
  path: string | null;
  pathPrefix: string | null;
  /** Position in the router's `getRoutes()`: the realm finds the handler by it. */
  index: number;
};

export type SchemaTable = {
  name: string;
  /** An object validator over the user's fields. */
  document: ValidatorJson;
  indexes: {name: string; fields: string[]}[];
};
export type SchemaDefinition = {
  tables: SchemaTable[];
  /** False: types and indexes apply, documents are not validated. */
  schemaValidation: boolean;
};

export type AuthProvider =
  | {type: 'oidc'; domain: string; applicationID: string}
  | {
      type: 'customJwt';
      issuer: string;
      jwks: string;
      algorithm: 'RS256' | 'ES256';
      applicationID: string | null;
    };

/** The contents of a deployment, found by running its modules once in an isolate. */
export type Manifest = {
  functions: FunctionEntry[];
  /** Null: there is no `svc/http`. */
  routes: HttpRoute[] | null;
  /** Null: there is no `svc/schema`. */
  schema: SchemaDefinition | null;
  /** Empty: no verifier; every request with a token gets 401. */
  authProviders: AuthProvider[];
  /** Missing: nothing runs in Node. */
  node?: NodePart;
};

/* ── answers ── */

const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Names = Type.Array(Type.String(), {description: 'in code unit order'});

/** A deployment in the history. */
export const DeploymentView = Type.Object({
  id: Type.Integer({description: 'counts up from 1 in a tenant'}),
  created_at: EpochMs,
  activated_at: Type.Union([EpochMs, Type.Null()]),
  active: Type.Boolean(),
  message: Type.Union([Type.String(), Type.Null()]),
  development: Type.Boolean({description: 'made by svc dev'}),
  functions: Type.Integer({minimum: 0}),
  hash: Type.String({description: 'SHA-256 over all its files, hex'}),
});
export type DeploymentView = Static<typeof DeploymentView>;

/** A deploy's changes in addition to the code, as part of its answer. They never include documents. */
export const SchemaChangesView = Type.Object({
  tables: Type.Object(
    {declared: Names, undeclared: Names},
    {
      description:
        'declared: now, and not by the deployment before; undeclared: their documents stay, and are not checked',
    },
  ),
  indexes: Type.Object(
    {added: Names, dropped: Names},
    {
      description: '`table.index (field, field)`; one whose fields changed is in both lists',
    },
  ),
});
export type SchemaChangesView = Static<typeof SchemaChangesView>;

/** The answer to a deploy: the deployment, which is now active. */
export const DeployedView = Type.Object({...DeploymentView.properties, changes: SchemaChangesView});
export type DeployedView = Static<typeof DeployedView>;
/** The answer to a dry run: what a deploy would have done. */
export const DryRunView = Type.Object({
  dry_run: Type.Literal(true),
  functions: Type.Array(FunctionEntry),
  changes: SchemaChangesView,
});
export type DryRunView = Static<typeof DryRunView>;

export const DeploymentList = Type.Object({deployments: Type.Array(DeploymentView, {description: 'newest first'})});

const FileName = {
  path: Type.String({description: 'of a source relative to the project, of the bundle below its root'}),
  kind: Type.Enum(['source', 'bundle']),
};
export const DeploymentFile = Type.Object({
  ...FileName,
  bytes: Type.Integer({minimum: 0}),
  sha256: Type.String({description: 'hex; of the text and its source map'}),
});
export type DeploymentFile = Static<typeof DeploymentFile>;
export const DeploymentFileList = Type.Object({
  files: Type.Array(DeploymentFile, {description: 'sources first; none if the client that deployed sends none'}),
});
export const DeploymentFileText = Type.Object({
  ...FileName,
  sha256: Type.String({description: 'hex; of the text and its source map'}),
  text: Type.String(),
});
export type DeploymentFileText = Static<typeof DeploymentFileText>;

const FileChange = Type.Enum(['added', 'removed', 'changed']);
const Bytes = Type.Union([Type.Integer({minimum: 0}), Type.Null()], {description: 'null: it is not there'});
export const DeploymentDiff = Type.Object({
  from: Type.Integer(),
  to: Type.Integer(),
  files: Type.Array(Type.Object({...FileName, change: FileChange, bytes_before: Bytes, bytes_after: Bytes})),
  functions: Type.Array(Type.Object({path: Type.String(), change: FileChange}), {
    description: 'changed: its code, kind, visibility, arguments or result',
  }),
  tables: Type.Array(Type.Object({name: Type.String(), change: FileChange}), {
    description: 'that the schema declares; changed: what it checks',
  }),
  indexes: Type.Array(
    Type.Object({table: Type.String(), name: Type.String(), fields: Type.Array(Type.String()), change: FileChange}),
    {description: '`fields` are those of the second, or of the one that was removed'},
  ),
  routes: Type.Array(Type.Object({method: Type.String(), path: Type.String(), change: FileChange}), {
    description: 'of HTTP actions; the path of a prefix ends in `*`',
  }),
  auth_providers: Type.Array(Type.Object({issuer: Type.String(), change: FileChange})),
  variables: Type.Array(Type.Object({name: Type.String(), change: FileChange}), {
    description: 'that the code reads, as far as its text shows: `process.env.NAME`',
  }),
});
export type DeploymentDiff = Static<typeof DeploymentDiff>;

/** GET …/deployments/{deployment_id}/preview: what its activation would do now. Nothing is changed. */
export const ActivationPreview = Type.Object({
  deployment: Type.Integer(),
  active: Type.Union([Type.Integer(), Type.Null()], {description: 'the deployment that is active now'}),
  errors: Type.Array(
    Type.Object({
      message: Type.String(),
      file: Type.Union([Type.String(), Type.Null()]),
      line: Type.Union([Type.Integer(), Type.Null()]),
    }),
    {description: 'why it would be refused, as in `detail.errors` of the activation; empty: it would succeed'},
  ),
  changes: SchemaChangesView,
  builds: Type.Array(
    Type.Object({
      table: Type.String(),
      name: Type.String(),
      fields: Type.Array(Type.String()),
      documents: Type.Integer({minimum: 0}),
    }),
    {description: 'indexes to fill before it is active, with the documents to read; none if it would be refused'},
  ),
  missing_functions: Type.Array(Type.Object({path: Type.String(), jobs: Type.Integer({minimum: 1})}), {
    description: 'that pending jobs call and it does not have, or not as a mutation: these jobs would fail',
  }),
  failing_crons: Type.Array(Type.Object({name: Type.String(), message: Type.String()}), {
    description: 'enabled crons that insert documents which its schema refuses',
  }),
  missing_variables: Type.Array(Type.String(), {
    description: 'that its code reads and the tenant lacks, as far as its text shows: `process.env.NAME`',
  }),
});
export type ActivationPreview = Static<typeof ActivationPreview>;

export const DeployStep = Type.Enum([
  'waiting',
  'checking',
  'storing',
  'unpacking_packages',
  'installing_node',
  'loading_node_modules',
  'activating',
]);
export type DeployStep = Static<typeof DeployStep>;
/** A deploy that has not been answered yet. */
export const DeployProgress = Type.Object({
  request_id: Type.String({description: 'of the request that is the deploy'}),
  step: DeployStep,
  detail: Type.Union([Type.String(), Type.Null()], {description: 'the version of Node, how many packages; for people'}),
  since: EpochMs,
});
export type DeployProgress = Static<typeof DeployProgress>;
export const DeployProgressList = Type.Object({deploys: Type.Array(DeployProgress, {description: 'the oldest first'})});
export type DeployProgressList = Static<typeof DeployProgressList>;

/** Functions of the active deployment; null: there is none. */
export const FunctionList = Type.Object({
  deployment: Type.Union([Type.Integer(), Type.Null()]),
  functions: Type.Array(FunctionEntry),
});
export type FunctionList = Static<typeof FunctionList>;

/** One line of GET …/logs: one finished execution. */
export const LogEntry = Type.Object({
  n: Type.Integer({description: 'counts up while the worker lives'}),
  at: Type.Number({description: 'when it began, epoch milliseconds'}),
  request_id: Type.String(),
  path: Type.String(),
  kind: FunctionKind,
  caller: Type.Enum(['client', 'job', 'function', 'admin']),
  outcome: Type.Enum(['success', 'error']),
  duration_ms: Type.Number({minimum: 0}),
  error: Type.Union([Type.String(), Type.Null()], {
    description: 'with stack, whatever `redactErrors` says; null when it succeeded',
  }),
  lines: Type.Array(Type.String()),
  call_id: Type.Optional(Type.String({description: 'of this execution; absent in entries of earlier versions'})),
  parent_call_id: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: 'the execution that called this one, or scheduled the job that it is; null: a request, or a cron',
    }),
  ),
  trace_id: Type.Optional(
    Type.String({description: 'the same for all executions that one request led to: its request_id, as a rule'}),
  ),
});
export type LogEntry = Static<typeof LogEntry>;

/** GET …/logs */
export const LogQuery = Type.Object({
  history: Type.Optional(Type.Integer({minimum: 0, description: 'entries at most'})),
  follow: Type.Optional(Type.Enum(['true', 'false'])),
  request_id: Type.Optional(Type.String()),
  trace_id: Type.Optional(Type.String({description: 'a request with the executions that it led to, also as jobs'})),
  path: Type.Optional(Type.String()),
  outcome: Type.Optional(Type.Enum(['success', 'error'])),
  text: Type.Optional(Type.String({description: 'in the path, the error or a line, in any case'})),
  level: Type.Optional(Type.Enum([...CONSOLE_LEVELS], {description: 'with such a line; error: failed ones, too'})),
  before: Type.Optional(
    Type.String({description: 'only entries before this one: its at + duration_ms, a hyphen, and its n'}),
  ),
  since: Type.Optional(
    Type.String({description: 'of the moment it ended: epoch milliseconds, or 2026-01-31T12:00:00Z'}),
  ),
  until: Type.Optional(Type.String({description: 'as since'})),
});
