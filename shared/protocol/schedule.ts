/**
 * Wire types of scheduled jobs and crons. POST|GET|DELETE /api/tenants/{tenant_id}/schedule… and …/crons…
 *
 * Work is a mutation object, tagged by `type`; only mutations can be scheduled.
 */
import Type, {type Static} from 'typebox';
import {CRON_SECONDS_MAX, CRON_SECONDS_MIN, RUN_AFTER_MS_MAX} from '../limits.ts';

export const InsertMutation = Type.Object({
  type: Type.Literal('insert'),
  table: Type.String(),
  fields: Type.Object({}),
  id: Type.Optional(Type.String({description: 'chosen by the caller; unique in the tenant'})),
});
export const UpdateMutation = Type.Object({
  type: Type.Literal('update'),
  table: Type.String(),
  id: Type.String(),
  patch: Type.Object({}),
});
export const DeleteMutation = Type.Object({type: Type.Literal('delete'), table: Type.String(), id: Type.String()});

export const Mutation = Type.Union([InsertMutation, UpdateMutation, DeleteMutation]);
export type Mutation = Static<typeof Mutation>;

const RunAfterMs = Type.Number({minimum: 0, maximum: RUN_AFTER_MS_MAX});
const Interval = Type.Object({
  type: Type.Literal('interval'),
  seconds: Type.Number({minimum: CRON_SECONDS_MIN, maximum: CRON_SECONDS_MAX}),
});

/** POST …/schedule */
export const ScheduleBody = Type.Object({run_after_ms: RunAfterMs, mutation: Mutation});
/** POST …/crons */
export const CronBody = Type.Object({name: Type.String(), schedule: Interval, mutation: Mutation});

/** The envelope of a mutation: its members are checked one by one, so that a message can name the field at fault. */
export const MutationTag = Type.Object({type: Type.Enum(['insert', 'update', 'delete'])});
/** What is checked of the two bodies before their mutation is. */
export const ScheduleEnvelope = Type.Object({run_after_ms: RunAfterMs, mutation: MutationTag});
export const CronEnvelope = Type.Object({name: Type.String(), schedule: Interval, mutation: MutationTag});

/** The work of a function that was scheduled. `args` are a wire value. */
export const FunctionWork = Type.Object({type: Type.Literal('function'), path: Type.String(), args: Type.Unknown()});

const Work = Type.Union([...Mutation.anyOf, FunctionWork]);
const Outcome = Type.Enum(['completed', 'failed']);
const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Failure = Type.Union([Type.String(), Type.Null()], {description: '`code: message` of a failure; null: none'});
const NextCursor = Type.Optional(
  Type.Union([Type.String(), Type.Null()], {description: "of a page: the next one's after, null at the end"}),
);

export const PendingJob = Type.Object({id: Type.String(), run_at: EpochMs, mutation: Work, created_at: EpochMs});
export type PendingJob = Static<typeof PendingJob>;

export const JobResult = Type.Object({
  id: Type.String(),
  run_at: EpochMs,
  finished_at: EpochMs,
  mutation: Work,
  outcome: Outcome,
  error: Failure,
});
export type JobResult = Static<typeof JobResult>;

export const Cron = Type.Object({
  name: Type.String(),
  schedule: Type.Object({type: Type.Literal('interval'), seconds: Type.Number()}),
  mutation: Work,
  enabled: Type.Boolean(),
  last_run: Type.Union([EpochMs, Type.Null()]),
  next_run: EpochMs,
  created_at: EpochMs,
  last_outcome: Type.Union([Outcome, Type.Null()], {description: 'of the latest run; null: none yet'}),
  last_error: Failure,
  failures: Type.Integer({minimum: 0, description: 'runs that failed since the last one that completed'}),
});
export type Cron = Static<typeof Cron>;

export const ScheduledJob = Type.Object({job_id: Type.String()});
export const FoundJob = Type.Object({job: PendingJob});
export const FoundResult = Type.Object({result: JobResult});
export const JobList = Type.Object({
  jobs: Type.Array(PendingJob, {description: 'the next one first'}),
  next_cursor: NextCursor,
});
export const CronList = Type.Object({crons: Type.Array(Cron, {description: 'by name'}), next_cursor: NextCursor});

/** GET …/schedule and …/crons: without any of these the whole list is asked for, else a page. */
export const ListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({minimum: 1, description: 'above 1,000 is 1,000'})),
  after: Type.Optional(Type.String({description: "a previous page's next_cursor"})),
});
