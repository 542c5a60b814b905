/**
 * The types of an operation's texts for callers, in addition to the facts that follow from its row and its wire types.
 */
import type {ErrorCode} from '../../../shared/errors.ts';
import type {Operation, RouterOperation} from '../../../shared/operations.ts';

/** The groups of operations, in the order of the list. Markdown. */
export const TAGS = {
  tenants: 'A tenant is a name, a directory and a process of its own. It must exist before anything in it does.',
  documents: 'JSON objects in tables. A table is made by its first insert.',
  transactions: 'Several writes in one commit and one record of the journal, all of them or none.',
  queries: 'Filters, an order, a limit; pages with cursors. Which index is used never changes the answer.',
  bulk: 'Many documents at once.',
  schema: 'What documents of a table must be like, and the indexes of the table. A table needs none.',
  journal:
    'Every committed write as a record, in order and chained by digests; and the state at one record to begin with.',
  schedule: 'Mutations that run once, later.',
  crons: 'Mutations that run again and again.',
  functions: "A tenant's functions, for the tenant's own users: the deployment URL is `/svc/{tenant_id}`.",
  deployments: 'The code of functions. `svc deploy` makes the uploads.',
  environment: 'Variables that functions see as `process.env`.',
  settings: 'What code of the tenant may reach, and which pages may call its functions.',
  logs: 'Executions of functions.',
  services: 'Code of a tenant that runs for as long as it is wanted.',
  sandboxes: 'Isolated execution of code that the tenant does not trust.',
  sessions: "A caller's lease on a tenant, with a sandbox.",
  live: 'WebSockets. Their frames are described in words: OpenAPI has none for them.',
  keys: 'Credentials that may do less than everything, and end.',
  dashboard: 'The pages on which people use a server, and who is signed in there.',
  server: 'The server itself.',
} as const;
export type Tag = keyof typeof TAGS;

type Name = Operation | RouterOperation;
type FirstWord<N extends Name> = N extends `${infer Word}.${string}` ? Word : N;

/** The groups of operations by the first words of their names, where that is not the group itself. */
const TAG_OF: Readonly<Record<Exclude<FirstWord<Name>, Tag>, Tag>> = {
  audit: 'keys',
  auth: 'functions',
  backup: 'server',
  cluster: 'server',
  upgrade: 'server',
  docs: 'server',
  env: 'environment',
  exports: 'bulk',
  figures: 'server',
  health: 'server',
  imports: 'bulk',
  limits: 'settings',
  live_queries: 'live',
  metrics: 'server',
  openapi: 'server',
  packages: 'deployments',
  query: 'queries',
  socket: 'live',
  tables: 'bulk',
  tasks: 'bulk',
  whoami: 'keys',
};

/** A successful request and its answer; a test checks both against their types, and sends the request. */
export type Example = {
  /** Path parameters; a missing one is the parameter's own example, or comes from `from`. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  /** The JSON of the success, or a line of it. */
  readonly answer?: unknown;
  /** The same for other successes, by the name of the variant. */
  readonly variants?: Readonly<Record<string, unknown>>;
  /**
   * The operation to call first, by its id in the document, and which part of its answer is which parameter here (a
   * runtime expression).
   */
  readonly from?: {readonly operation: string; readonly values: Readonly<Record<string, string>>};
};

export type OperationText = {
  /** Its group, if its name does not tell. */
  readonly tag?: Tag;
  /** One line. */
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  /** Codes of errors that do not follow from its row (see build/openapi/error-codes.ts). */
  readonly errors?: readonly ErrorCode[];
  /** The operation reads `Idempotency-Key`. */
  readonly takesKey?: true;
  readonly example: Example;
  /** If the operation's routes take different bodies: the other examples, by the parameter that the path stands for. */
  readonly others?: Readonly<Record<string, Example>>;
};

export type OperationTexts<O extends Name> = Readonly<Record<O, OperationText>>;
/** The operations of a group: `documents` has all whose names begin with `documents.`. */
export type Named<Group extends string> = Extract<Name, `${Group}.${string}`>;

export function tagOf(name: Name, {tag}: OperationText): Tag {
  const word = name.split('.', 1)[0] as FirstWord<Name>;
  return tag ?? (word in TAGS ? (word as Tag) : TAG_OF[word as keyof typeof TAG_OF]);
}
