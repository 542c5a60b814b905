/**
 * The wire types of every operation, in a separate file from the table (`operations.ts`) because no running service
 * loads them: precomputed schemas of answers would cost each worker memory, and answers are texts that are not
 * validated again. A test drives a service through all of them; the description of the API and a typed client are
 * generated from them. Handlers use the static types.
 */
import Type, {type Static, type TSchema} from 'typebox';
import type {Operation, RouterOperation} from './operations.ts';
import {AuditPage, AuditQuery, RefusalPage} from './protocol/audit.ts';
import {AuthProviders, TokenBody, TokenExamination} from './protocol/auth.ts';
import {
  BackupQuery,
  BackupRun,
  BackupStatus,
  DrillQuery,
  PointsQuery,
  RestoredTenant,
  RestoreQuery,
  StartedDrill,
  TenantPoints,
} from './protocol/backups.ts';
import {
  ClusterMembers,
  ClusterQuery,
  ClusterStatus,
  DrainBody,
  DrainedHost,
  MoveBody,
  MovedTenant,
  PinBody,
} from './protocol/cluster.ts';
import {DashboardCode, DashboardSessionList} from './protocol/dashboard.ts';
import {DeploymentFileQuery, DeploymentUploadBody, MissingPackages, PackagesBody} from './protocol/deployments.ts';
import {
  DocumentList,
  FoundDocument,
  InsertBody,
  PatchBody,
  PutBody,
  UpsertBody,
  WrittenDocument,
} from './protocol/documents.ts';
import {Variable, VariableBody, VariableList} from './protocol/environment.ts';
import {ExportLine, ExportQuery} from './protocol/exports.ts';
import {Figures, FiguresQuery, FunctionFigures, FunctionFiguresQuery} from './protocol/figures.ts';
import {
  FunctionCallBody,
  FunctionReply,
  FunctionRunBody,
  FunctionWatchBody,
  QueryCallBody,
  QueryReply,
  RunAfterBody,
  RunAtBody,
  ScheduledCall,
  WatchedReply,
} from './protocol/function-calls.ts';
import {
  ActivationPreview,
  DeployedView,
  DeploymentDiff,
  DeploymentFileList,
  DeploymentFileText,
  DeploymentList,
  DeploymentView,
  DeployProgressList,
  DryRunView,
  FunctionList,
  LogEntry,
  LogQuery,
} from './protocol/functions.ts';
import {FoundImport, ImportList, ImportQuery, ImportResult} from './protocol/imports.ts';
import {Bootstrap, JournalPage, JournalQuery, JournalRecord, JournalStreamQuery} from './protocol/journal.ts';
import {JournalCounts, JournalCountsQuery} from './protocol/journal-counts.ts';
import {FoundKey, KeyBody, KeyList, MadeKey, RotateBody, WhoAmI} from './protocol/keys.ts';
import {TenantLimits} from './protocol/limits.ts';
import {FoundLiveQuery, LiveListQuery, LiveQueryPage} from './protocol/live-list.ts';
import {
  LiveQueryObject,
  LiveResult,
  PaginatedQueryBody,
  QueryBatch,
  QueryBatchResult,
  QueryCount,
  QueryFollowQuery,
  QueryObject,
  QueryPage,
  QueryResult,
  QueryStreamQuery,
} from './protocol/queries.ts';
import {ExecuteBody, Executed, FoundSandbox, SandboxBody, SandboxList} from './protocol/sandboxes.ts';
import {
  CronBody,
  CronList,
  CronPatchBody,
  CronRunList,
  CronTimes,
  CronTimesQuery,
  FoundCron,
  FoundJob,
  FoundResult,
  JobList,
  ListQuery,
  PastRunList,
  RanCron,
  ScheduleBody,
  ScheduledJob,
  UpcomingList,
} from './protocol/schedule.ts';
import {IndexList, ListedTables, RenameBody, SchemaList, StoredTableSchema, TableSchema} from './protocol/schema.ts';
import {ServerStatus} from './protocol/server.ts';
import {
  FoundService,
  ServiceBody,
  ServiceList,
  ServiceLogEntry,
  ServiceLogQuery,
  ServiceUpdateBody,
} from './protocol/services.ts';
import {FoundSession, SessionBody, SessionList, SessionQuery} from './protocol/sessions.ts';
import {SettingsBody, SettingsChange} from './protocol/settings.ts';
import {FoundTask, StartedTask, TaskBody, TaskList} from './protocol/tasks.ts';
import {
  CloneQuery,
  FileImportQuery,
  FoundTenant,
  OverviewQuery,
  PauseQuery,
  TenantOverview,
  WokenTenant,
} from './protocol/tenant-status.ts';
import {CreatedTenant, CreateTenantBody, TenantList} from './protocol/tenants.ts';
import {TransactionBody, TransactionResult} from './protocol/transactions.ts';
import {UpgradeStatus} from './protocol/upgrades.ts';

export type OperationTypes = {
  /** The JSON of the request's body. Absent: the body is ignored. */
  readonly body?: TSchema;
  /** The same for an operation whose routes take different bodies, by the parameter that its path stands for. */
  readonly bodies?: Readonly<Record<string, TSchema>>;
  /** Content types of a body that is not JSON. */
  readonly bodyMedia?: readonly string[];
  /** The parameters of the query string; numbers are written in digits. Absent: the query string is ignored. */
  readonly query?: TSchema;
  /** The JSON of a success. Absent: it has no body, or one of another type. */
  readonly answer?: TSchema;
  /** The same for other successes, by the names that the table gives them. */
  readonly variants?: Readonly<Record<string, TSchema>>;
  /**
   * The content type, if it is not JSON. For `application/x-ndjson`, `answer` describes a line, for `text/event-stream`
   * the data of a message. Any: an app's own.
   */
  readonly media?: string;
  /** Other content types of a success, which is text, with an example of each. */
  readonly otherMedia?: Readonly<Record<string, string>>;
};

const call = {body: FunctionCallBody, answer: FunctionReply};
const queryCall = {body: QueryCallBody, answer: QueryReply};
const nothing = {};

export const OPERATION_TYPES = {
  health: {answer: Type.Object({ok: Type.Literal(true)})},
  metrics: {media: 'text/plain; version=0.0.4; charset=utf-8'},
  openapi: {answer: Type.Object({}, {description: 'an OpenAPI 3.1 document'})},
  'docs.page': {media: 'text/html; charset=utf-8'},
  'docs.file': {media: '*/*'},
  socket: nothing,
  'functions.socket': nothing,
  'tenants.create': {body: CreateTenantBody, answer: CreatedTenant},
  'tenants.list': {answer: TenantList},
  'tenants.delete': nothing,
  'tenants.overview': {query: OverviewQuery, answer: TenantOverview},
  'tenants.status': {answer: FoundTenant},
  'server.status': {answer: ServerStatus},
  'backup.status': {query: BackupQuery, answer: BackupStatus},
  'backup.run': {answer: BackupRun},
  'backup.drill': {query: DrillQuery, answer: StartedDrill},
  'tenants.restore': {query: RestoreQuery, answer: RestoredTenant},
  'backup.points': {query: PointsQuery, answer: TenantPoints},
  'upgrade.status': {answer: UpgradeStatus},
  'upgrade.start': {answer: UpgradeStatus},
  'cluster.status': {query: ClusterQuery, answer: ClusterStatus},
  'cluster.members': {answer: ClusterMembers},
  'cluster.move': {body: MoveBody, answer: MovedTenant},
  'cluster.pin': {body: PinBody, answer: MovedTenant},
  'cluster.drain': {body: DrainBody, answer: DrainedHost},
  'figures.server': {query: FiguresQuery, answer: Figures},
  'figures.tenant': {query: FiguresQuery, answer: Figures},
  'figures.functions': {query: FunctionFiguresQuery, answer: FunctionFigures},
  'tenants.wake': {answer: WokenTenant},
  'tenants.sleep': {answer: FoundTenant},
  'tenants.pause': {query: PauseQuery, answer: FoundTenant},
  'tenants.clone': {query: CloneQuery, answer: FoundTenant},
  'tenants.import': {bodyMedia: ['application/vnd.sqlite3'], query: FileImportQuery, answer: FoundTenant},
  'tenants.resume': {answer: FoundTenant},
  'audit.page': {query: AuditQuery, answer: AuditPage},
  'audit.refusals': {query: AuditQuery, answer: RefusalPage},
  whoami: {answer: WhoAmI},
  'keys.create': {body: KeyBody, answer: MadeKey},
  'keys.list': {answer: KeyList},
  'keys.get': {answer: FoundKey},
  'keys.rotate': {body: RotateBody, answer: MadeKey},
  'keys.revoke': nothing,
  'dashboard.code': {answer: DashboardCode},
  'dashboard.sessions': {answer: DashboardSessionList},
  'dashboard.end_all': nothing,
  'dashboard.end': nothing,

  'documents.insert': {body: InsertBody, answer: WrittenDocument},
  'documents.list': {answer: DocumentList},
  'documents.get': {answer: FoundDocument},
  'documents.put': {body: PutBody, answer: WrittenDocument, variants: {created: WrittenDocument}},
  'documents.patch': {body: PatchBody, answer: WrittenDocument},
  'documents.delete': nothing,
  'documents.upsert': {body: UpsertBody, answer: WrittenDocument, variants: {created: WrittenDocument}},
  'transactions.run': {body: TransactionBody, answer: TransactionResult},
  'imports.run': {bodyMedia: ['application/x-ndjson', 'text/csv'], query: ImportQuery, answer: ImportResult},
  'exports.run': {
    query: ExportQuery,
    answer: ExportLine,
    media: 'application/x-ndjson',
    otherMedia: {'text/csv': '_id,name\r\n0k2,Oslo\r\n'},
  },
  'exports.file': {media: 'application/vnd.sqlite3'},
  'tasks.create': {body: TaskBody, answer: StartedTask},
  'tables.drop': {answer: StartedTask},
  'tables.rename': {body: RenameBody},
  'tasks.list': {query: ListQuery, answer: TaskList},
  'tasks.get': {answer: FoundTask},
  'tasks.cancel': {answer: FoundTask},
  'imports.list': {answer: ImportList},
  'imports.get': {answer: FoundImport},
  'query.run': {body: QueryObject, answer: QueryResult},
  'query.paginated': {body: PaginatedQueryBody, answer: QueryPage},
  'query.count': {body: QueryObject, answer: QueryCount},
  'query.batch': {body: QueryBatch, answer: QueryBatchResult},
  'query.stream': {body: LiveQueryObject, query: QueryStreamQuery, answer: LiveResult, media: 'text/event-stream'},
  'query.follow': {query: QueryFollowQuery, answer: LiveResult, media: 'text/event-stream'},
  'live_queries.list': {query: LiveListQuery, answer: LiveQueryPage},
  'live_queries.get': {answer: FoundLiveQuery},
  'journal.page': {query: JournalQuery, answer: JournalPage},
  'journal.counts': {query: JournalCountsQuery, answer: JournalCounts},
  'journal.stream': {query: JournalStreamQuery, answer: JournalRecord, media: 'text/event-stream'},
  'journal.bootstrap': {answer: Bootstrap},
  'schema.all': {answer: SchemaList},
  'schema.indexes': {answer: IndexList},
  'schema.get': {answer: StoredTableSchema},
  'schema.put': {body: TableSchema},
  'schema.delete': nothing,
  'schedule.create': {body: ScheduleBody, answer: ScheduledJob},
  'schedule.list': {query: ListQuery, answer: JobList},
  'schedule.get': {answer: FoundJob},
  'schedule.cancel': nothing,
  'schedule.retry': {answer: ScheduledJob},
  'schedule.result': {answer: FoundResult},
  'schedule.all': {query: ListQuery, answer: UpcomingList},
  'schedule.history': {query: ListQuery, answer: PastRunList},
  'crons.create': {body: CronBody},
  'crons.list': {query: ListQuery, answer: CronList},
  'crons.get': {answer: FoundCron},
  'crons.next': {query: CronTimesQuery, answer: CronTimes},
  'crons.patch': {body: CronPatchBody, answer: FoundCron},
  'crons.delete': nothing,
  'crons.run': {answer: RanCron},
  'crons.history': {query: ListQuery, answer: CronRunList},

  'deployments.create': {body: DeploymentUploadBody, answer: DeployedView, variants: {dry_run: DryRunView}},
  'packages.missing': {body: PackagesBody, answer: MissingPackages},
  'packages.put': nothing,
  'deployments.progress': {answer: DeployProgressList},
  'deployments.list': {answer: DeploymentList},
  'deployments.files': {answer: DeploymentFileList},
  'deployments.file': {query: DeploymentFileQuery, answer: DeploymentFileText},
  'deployments.diff': {answer: DeploymentDiff},
  'deployments.preview': {answer: ActivationPreview},
  'deployments.activate': {answer: DeploymentView},
  'functions.list': {answer: FunctionList},
  'functions.watch': {
    body: FunctionWatchBody,
    query: QueryStreamQuery,
    answer: WatchedReply,
    media: 'text/event-stream',
  },
  'functions.run': {body: FunctionRunBody, answer: FunctionReply},
  'env.list': {answer: VariableList},
  'env.get': {answer: Variable},
  'env.set': {body: VariableBody},
  'env.delete': nothing,
  'logs.read': {query: LogQuery, answer: LogEntry, media: 'application/x-ndjson'},
  'limits.get': {answer: TenantLimits},
  'auth.get': {answer: AuthProviders},
  'auth.check': {body: TokenBody, answer: TokenExamination},
  'settings.get': {answer: SettingsBody},
  'settings.put': {body: SettingsChange},
  'tables.list': {answer: ListedTables},

  'services.create': {body: ServiceBody, answer: FoundService},
  'services.list': {answer: ServiceList},
  'services.get': {answer: FoundService},
  'services.update': {body: ServiceUpdateBody, answer: FoundService},
  'services.delete': {},
  'services.start': {answer: FoundService},
  'services.stop': {answer: FoundService},
  'services.restart': {answer: FoundService},
  'services.logs': {query: ServiceLogQuery, answer: ServiceLogEntry, media: 'application/x-ndjson'},
  'sandboxes.create': {body: SandboxBody, answer: FoundSandbox},
  'sandboxes.list': {answer: SandboxList},
  'sandboxes.get': {answer: FoundSandbox},
  'sandboxes.stop': {answer: FoundSandbox},
  'sandboxes.execute': {body: ExecuteBody, answer: Executed},
  'sessions.create': {body: SessionBody, answer: FoundSession},
  'sessions.list': {query: SessionQuery, answer: SessionList},
  'sessions.get': {answer: FoundSession},
  'sessions.close': {answer: FoundSession},
  'sessions.execute': {body: ExecuteBody, answer: Executed},

  'functions.query': queryCall,
  'functions.paginated': queryCall,
  'functions.mutation': call,
  'functions.action': call,
  'functions.schedule': {bodies: {run_after: RunAfterBody, run_at: RunAtBody}, answer: ScheduledCall},
  'functions.unschedule': nothing,
  'functions.http': {media: '*/*'},
  'functions.preflight': nothing,
} as const satisfies Record<Operation | RouterOperation, OperationTypes>;

type Types = typeof OPERATION_TYPES;
type StaticOf<T> = T extends TSchema ? Static<T> : never;

/** The wire type of a request's body. */
export type BodyType<O extends keyof Types> = Types[O] extends {readonly body: infer B} ? B & TSchema : never;
/** The body of a success. */
export type AnswerOf<O extends keyof Types> = Types[O] extends {readonly answer: infer A} ? StaticOf<A> : never;
/** The JSON of a request's body. */
export type BodyOf<O extends keyof Types> = Types[O] extends {readonly body: infer B} ? StaticOf<B> : never;
/** The parameters of the query string. */
export type QueryOf<O extends keyof Types> = Types[O] extends {readonly query: infer Q} ? StaticOf<Q> : never;
/** The body of a success of any kind; null: it has none. */
export type SuccessOf<O extends keyof Types> = Types[O] extends {readonly answer: TSchema}
  ? AnswerOf<O> | (Types[O] extends {readonly variants: infer V} ? StaticOf<V[keyof V]> : never)
  : null;
/** The body of another kind of success. */
export type VariantOf<O extends keyof Types, V extends string> = Types[O] extends {
  readonly variants: {readonly [name in V]: infer A};
}
  ? StaticOf<A>
  : never;
