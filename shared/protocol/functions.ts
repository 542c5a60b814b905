/**
 * What the function platform's parts say to each other: what a deploy uploads, what the analysis of it finds, and what the
 * deployment's and the admin's HTTP routes take and answer.
 */
import type {Runtime} from '../runtime-directive.ts';
import type {ValidatorJson} from '../values/validator.ts';

/** How a function was registered. An HTTP action is reached through the router of `svc/http.ts` only. */
export type FunctionKind = 'query' | 'paginatedQuery' | 'mutation' | 'action' | 'httpAction';
export type Visibility = 'public' | 'internal';

/* ── upload: POST /api/tenants/{tenant_id}/deployments ── */

/** One file of the bundle, as esbuild wrote it: an ES module that imports others of the bundle by relative path. */
export type BundleFile = {
  /** Below the bundle's root: `messages.js`, `a/b.js`, `_deps/chunk-ABC.js`. */
  path: string;
  source: string;
  /** Source map (version 3) as JSON text; `sources` are relative to the project, `svc/messages.ts` for instance. Null: none. */
  sourceMap: string | null;
};

export type DeploymentUpload = {
  files: BundleFile[];
  /** Module paths (no extension) whose exports are functions: `messages`, `a/b`, `http`. In code unit order. */
  modules: string[];
  /** Where each module runs, by its path. Missing: in the default runtime, like modules that are not named. */
  runtimes?: Record<string, Runtime>;
  /** Module path of the schema (`schema`), or null. It is in `files`, not in `modules`. */
  schema: string | null;
  /** Module path of the auth config (`auth.config`), or null. */
  authConfig: string | null;
  /** The newest modification time of the project's sources: the deployment timestamp, epoch milliseconds. */
  modifiedMs: number;
  /** What the deploy is for; shown in the history. At most DEPLOYMENT_MESSAGE_CHARS_MAX. */
  message: string | null;
  /** Check everything, change nothing. */
  dryRun: boolean;
  /** One of the many that a developer's saves make: the history forgets these first. Missing: it is not. */
  development?: boolean;
};

/** One reason why a deployment was refused. `file` and `line` belong to the project's sources, where they are known. */
export type DeploymentError = {message: string; file: string | null; line: number | null};

/* ── analysis ── */

export type FunctionEntry = {
  /** Canonical: `a/b:f`; a default export is `a/b:default`. */
  path: string;
  /** `a/b`, the module path. */
  module: string;
  /** `f` or `default`. */
  name: string;
  kind: FunctionKind;
  visibility: Visibility;
  /** Null: nothing was declared, nothing is checked. */
  args: ValidatorJson | null;
  returns: ValidatorJson | null;
  /** Changes when the function's module, or anything that module imports, changes: SHA-256, hex. */
  hash: string;
};

export type HttpRoute = {
  method: string;
  /** Exactly one of the two. */
  path: string | null;
  pathPrefix: string | null;
  /** Position in the router's `getRoutes()`: how the realm finds the handler. */
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
  /** False: types and indexes apply, documents are not checked. */
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

/** What a deployment holds, found by running its modules once in an isolate. */
export type Manifest = {
  functions: FunctionEntry[];
  /** Null: there is no `svc/http`. */
  routes: HttpRoute[] | null;
  /** Null: there is no `svc/schema`. */
  schema: SchemaDefinition | null;
  /** Empty: no verifier; every request with a token is 401. */
  authProviders: AuthProvider[];
};

/* ── answers ── */

/** A deployment in the history. `id` counts up from 1 in a tenant. */
export type DeploymentView = {
  id: number;
  /** Epoch milliseconds. */
  created_at: number;
  activated_at: number | null;
  active: boolean;
  message: string | null;
  /** Made by svc dev. */
  development: boolean;
  functions: number;
  /** SHA-256 over all its files, hex. */
  hash: string;
};

/** What a deploy changes beside the code; as part of its answer. Documents are never among it. Names in code unit order. */
export type SchemaChangesView = {
  tables: {
    /** Declared now, and not by the deployment before. */
    declared: string[];
    /** Not declared any more: their documents stay, and are not checked. */
    undeclared: string[];
  };
  /** `table.index (field, field)`; one whose fields changed is in both lists. */
  indexes: {added: string[]; dropped: string[]};
};

/** POST /svc/{tenant_id}/query and the like, and POST …/functions/run. Values are wire values (`$float`). */
export type FunctionReply =
  | {status: 'success'; value: unknown; logLines?: string[]}
  | {status: 'error'; errorMessage: string; logLines?: string[]};

/** One line of GET …/logs: one finished execution. */
export type LogEntry = {
  /** Counts up while the worker lives. */
  n: number;
  /** When it began, epoch milliseconds. */
  at: number;
  request_id: string;
  path: string;
  kind: FunctionKind;
  /** Who called: a client, a scheduled job, another function, the admin. */
  caller: 'client' | 'job' | 'function' | 'admin';
  outcome: 'success' | 'error';
  duration_ms: number;
  /** With stack, whatever `redactErrors` says; null when it succeeded. */
  error: string | null;
  lines: string[];
};
