/** Wire types of the journal. GET /api/tenants/{tenant_id}/journal and …/journal/bootstrap */
import Type, {type Static} from 'typebox';
import {JOURNAL_VERSION} from '../journal-chain.ts';
import {JOURNAL_CAUSES, JOURNAL_KINDS} from '../journal-kinds.ts';
import {Document} from './documents.ts';
import {Cron, PendingJob} from './schedule.ts';
import {FieldEntry, IndexDefinition, SchemaList} from './schema.ts';
import {SettingsBody} from './settings.ts';

const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Failure = Type.Union([Type.String(), Type.Null()], {description: '`code: message` of a failure; null: none'});
const Outcome = Type.Enum(['completed', 'failed']);
const Digest = Type.String({description: 'SHA-256, hex'});

/** A table schema as GET shows it, without the state of its indexes: a replaying reader builds its own indexes. */
export const JournalSchema = Type.Object({
  table: Type.String(),
  fields: Type.Array(FieldEntry),
  indexes: Type.Array(IndexDefinition),
});
export type JournalSchema = Static<typeof JournalSchema>;

/**
 * Identifies a deployment's code without containing it. `hash` covers all files; `sha256` the source and source map of
 * one.
 */
export const JournalDeployment = Type.Object({
  id: Type.Integer(),
  created_at: EpochMs,
  activated_at: EpochMs,
  message: Type.Union([Type.String(), Type.Null()]),
  development: Type.Boolean({description: 'made by svc dev: forgotten before others'}),
  hash: Digest,
  files: Type.Array(Type.Object({path: Type.String(), sha256: Digest})),
});
export type JournalDeployment = Static<typeof JournalDeployment>;

/**
 * A record's event, with all that is needed to repeat it elsewhere; documents are in `writes`. Version 1 can gain new
 * types and members: a reader skips those that it does not know. Events never contain values of variables, or code.
 */
export const JournalEvent = Type.Union([
  Type.Object({
    type: Type.Enum(['document.inserted', 'document.updated', 'document.deleted']),
    table: Type.String(),
    id: Type.String(),
  }),
  Type.Object({type: Type.Literal('schema.set'), table: Type.String(), schema: JournalSchema}),
  Type.Object({type: Type.Literal('schema.deleted'), table: Type.String()}),
  Type.Object(
    {type: Type.Literal('table.renamed'), table: Type.String(), to: Type.String()},
    {description: 'documents and schema of `table` belong to `to` from then on, with the same ids'},
  ),
  Type.Object({type: Type.Literal('job.scheduled'), id: Type.String(), job: PendingJob}),
  Type.Object({type: Type.Literal('job.cancelled'), id: Type.String()}),
  Type.Object({
    type: Type.Enum(['job.completed', 'job.failed']),
    id: Type.String(),
    finished_at: EpochMs,
    error: Failure,
  }),
  Type.Object({type: Type.Literal('cron.created'), name: Type.String(), cron: Cron}),
  Type.Object({type: Type.Literal('cron.changed'), name: Type.String(), cron: Cron}),
  Type.Object({
    type: Type.Literal('cron.fired'),
    name: Type.String(),
    last_run: EpochMs,
    next_run: EpochMs,
    outcome: Outcome,
    error: Failure,
  }),
  Type.Object(
    {type: Type.Literal('cron.rescheduled'), name: Type.String(), next_run: EpochMs},
    {description: 'the clock was set back: the cron goes on with another tick'},
  ),
  Type.Object({type: Type.Literal('cron.deleted'), name: Type.String()}),
  Type.Object({type: Type.Literal('deployment.activated'), id: Type.String(), deployment: JournalDeployment}),
  Type.Object(
    {type: Type.Literal('deployment.forgotten'), id: Type.String()},
    {description: 'it is too old to be stored for a roll-back'},
  ),
  Type.Object({type: Type.Enum(['environment.set', 'environment.deleted']), name: Type.String()}),
  Type.Object({type: Type.Literal('settings.changed'), settings: SettingsBody}),
]);
export type JournalEvent = Static<typeof JournalEvent>;

/** One document that a record wrote: the complete new document, or null if it was deleted. */
export const JournalWrite = Type.Object({
  table: Type.String(),
  id: Type.String(),
  op: Type.Enum(['insert', 'update', 'delete']),
  document: Type.Union([Document, Type.Null()]),
});
export type JournalWrite = Static<typeof JournalWrite>;

/** What caused a record's write; absent in records of earlier versions. Members that do not apply are absent. */
export const JournalCause = Type.Object({
  kind: Type.Enum([...JOURNAL_CAUSES], {
    description:
      'api: a request of the native API; function: a mutation, or a call of an action; job, cron: scheduled work; ' +
      'task: a bulk change; import; system: svc itself',
  }),
  request_id: Type.Optional(Type.String({description: 'X-Request-Id; of a task, that of the request that made it'})),
  key_id: Type.Optional(
    Type.String({description: 'the API key of that request; absent: an admin credential, or a user'}),
  ),
  session_id: Type.Optional(Type.String({description: 'the dashboard session of that request'})),
  function: Type.Optional(Type.String({description: 'the function that wrote, like messages:send'})),
  job_id: Type.Optional(Type.String()),
  cron: Type.Optional(Type.String({description: 'its name'})),
  task_id: Type.Optional(Type.String()),
  import_id: Type.Optional(Type.String()),
});
export type JournalCause = Static<typeof JournalCause>;

export const JournalRecord = Type.Object({
  version: Type.Literal(JOURNAL_VERSION),
  sequence: Type.Integer({minimum: 1, description: 'gapless from 1'}),
  timestamp: Type.Number({description: 'epoch milliseconds, never less than that of the record before'}),
  events: Type.Array(JournalEvent),
  writes: Type.Array(JournalWrite),
  scheduled_execution_id: Type.Union([Type.String(), Type.Null()], {
    description: 'the scheduled job or cron run that made it, or null',
  }),
  cause: Type.Optional(JournalCause),
  integrity_sha256: Type.String({
    description: "hex SHA-256 of the previous digest, a line feed, and this record's stored JSON without this field",
  }),
});
export type JournalRecord = Static<typeof JournalRecord>;

const Timeline = Type.String({
  description:
    "of the tenant's file: another one is another journal, whose sequences mean other records; 32 hex characters",
});

export const JournalPage = Type.Object({
  records: Type.Array(JournalRecord),
  next_cursor: Type.Integer({description: 'the `after` of the next call; of an empty page the one it was given'}),
  latest_sequence: Type.Integer(),
  cursor_floor: Type.Integer({description: 'the oldest stored record'}),
  has_more: Type.Boolean(),
  timeline: Timeline,
});
export type JournalPage = Static<typeof JournalPage>;

/** GET …/journal */
export const JournalQuery = Type.Object({
  after: Type.Optional(Type.Integer({minimum: 0, description: 'a sequence; absent: from the oldest stored record'})),
  before: Type.Optional(Type.Integer({minimum: 1, description: 'only records before this sequence'})),
  order: Type.Optional(Type.Enum(['asc', 'desc'], {description: 'asc (default): the oldest first'})),
  table: Type.Optional(Type.String({description: 'only records that concern this table'})),
  document: Type.Optional(Type.String({description: 'only records that write the document of this id'})),
  kind: Type.Optional(
    Type.Enum([...JOURNAL_KINDS], {description: 'only records with such a write, or an event of such a type'}),
  ),
  request_id: Type.Optional(
    Type.String({description: 'only records with this request id, job id or cron name as their cause'}),
  ),
  from: Type.Optional(
    Type.Integer({minimum: 0, description: 'only records of this time or later, epoch milliseconds'}),
  ),
  to: Type.Optional(Type.Integer({minimum: 0, description: 'only records of this time or earlier'})),
  limit: Type.Optional(Type.Integer({minimum: 1, description: 'above 1,000 is 1,000'})),
  timeline: Type.Optional(Type.String({description: 'the one that `after` belongs to'})),
});

/** GET …/journal/stream; `Last-Event-ID` replaces `after` when a reader reconnects. */
export const JournalStreamQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      pattern: '^([0-9]{1,16}|latest)$',
      description: 'a sequence; latest: from now on; absent: from the oldest stored record',
    }),
  ),
  timeline: Type.Optional(Type.String({description: 'the one that `after` belongs to'})),
  table: Type.Optional(
    Type.String({description: 'only records that concern this table; may be said several times, for any of them'}),
  ),
  limit: Type.Optional(
    Type.Integer({minimum: 1, description: 'records after which the stream ends; absent: it does not'}),
  ),
});

/** The first event of a stream of the journal, `open`. */
export const JournalOpened = Type.Object({
  timeline: Timeline,
  latest_sequence: Type.Integer(),
  cursor_floor: Type.Integer({description: 'the oldest stored record'}),
});
export type JournalOpened = Static<typeof JournalOpened>;

/** The contents of the bootstrap apart from documents and schema. */
export const JournalSnapshotRest = Type.Object({
  scheduled_execution_ids: Type.Array(Type.String(), {
    description: 'of the jobs whose results are stored, oldest first',
  }),
  jobs: Type.Array(PendingJob),
  crons: Type.Array(Cron),
  deployments: Type.Array(Type.Object({...JournalDeployment.properties, active: Type.Boolean()})),
  settings: SettingsBody,
  environment: Type.Array(Type.String(), {description: 'names of variables; their values are secret'}),
});
export type JournalSnapshotRest = Static<typeof JournalSnapshotRest>;

/** GET …/journal/bootstrap */
export const Bootstrap = Type.Object({
  snapshot: Type.Object({
    version: Type.Literal(JOURNAL_VERSION),
    applied_sequence: Type.Integer({description: 'the last record that is in it: the cut'}),
    durable_head: Type.Integer({description: 'the cut'}),
    schema: SchemaList,
    documents: Type.Record(Type.String(), Type.Array(Document), {description: 'by table, in order of creation'}),
    ...JournalSnapshotRest.properties,
  }),
  resume_after_sequence: Type.Integer({description: "the journal's `after` to go on with"}),
  bootstrap_cut_sequence: Type.Integer(),
  cursor_floor_sequence: Type.Integer(),
  timeline: Timeline,
});
