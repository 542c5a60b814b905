/**
 * Wire types of scheduled jobs and crons. POST|GET|DELETE /api/tenants/{tenant_id}/schedule… and …/crons…
 *
 * Work is a mutation object, tagged by `type`; only mutations can be scheduled.
 */
import Type, {type Static} from 'typebox';
import {
  CRON_EXPRESSION_CHARS_MAX,
  CRON_SECONDS_MAX,
  CRON_SECONDS_MIN,
  RUN_AFTER_MS_MAX,
  TIME_ZONE_CHARS_MAX,
} from '../limits.ts';

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
export const Interval = Type.Object({
  type: Type.Literal('interval'),
  seconds: Type.Number({minimum: CRON_SECONDS_MIN, maximum: CRON_SECONDS_MAX}),
});
export const CronExpression = Type.Object(
  {
    type: Type.Literal('cron'),
    expression: Type.String({
      maxLength: CRON_EXPRESSION_CHARS_MAX,
      description: 'minute, hour, day of month, month, day of week; six parts begin with a second',
    }),
    time_zone: Type.Optional(
      Type.String({
        maxLength: TIME_ZONE_CHARS_MAX,
        description: 'whose clock it means, like Europe/Berlin; absent: UTC',
      }),
    ),
  },
  {additionalProperties: false},
);
const Schedule = Type.Union([Interval, CronExpression]);
export type Schedule = Static<typeof Schedule>;
/** A schedule in an answer. */
export const ShownSchedule = Type.Union([
  Type.Object({type: Type.Literal('interval'), seconds: Type.Number()}),
  Type.Object({type: Type.Literal('cron'), expression: Type.String(), time_zone: Type.String()}),
]);

/** POST …/schedule */
export const ScheduleBody = Type.Object({run_after_ms: RunAfterMs, mutation: Mutation});
/** POST …/crons */
export const CronBody = Type.Object({name: Type.String(), schedule: Schedule, mutation: Mutation});
const closed = {additionalProperties: false} as const;
const Enabled = Type.Optional(Type.Boolean({description: 'false: it does not run until it is true again'}));
/** PATCH …/crons/{name}: any of these. */
export const CronPatchBody = Type.Object(
  {schedule: Type.Optional(Schedule), mutation: Type.Optional(Mutation), enabled: Enabled},
  closed,
);

/** The envelope of a mutation: its members are validated one by one, so that a message can name the invalid field. */
export const MutationTag = Type.Object({type: Type.Enum(['insert', 'update', 'delete'])});
/** The same for a schedule. */
export const ScheduleTag = Type.Object({type: Type.Enum(['interval', 'cron'])});
/** Validated before the mutation and schedule in the bodies. */
export const ScheduleEnvelope = Type.Object({run_after_ms: RunAfterMs, mutation: MutationTag});
export const CronEnvelope = Type.Object({name: Type.String(), schedule: ScheduleTag, mutation: MutationTag});
export const CronPatchEnvelope = Type.Object(
  {schedule: Type.Optional(ScheduleTag), mutation: Type.Optional(MutationTag), enabled: Enabled},
  closed,
);

/** What led to a job, for the log of executions. */
export const JobTrace = Type.Object({
  id: Type.String({description: 'trace_id of the executions that led to it, in the logs'}),
  call_id: Type.Optional(Type.String({description: 'of the execution that scheduled it; absent: a request did'})),
  jobs: Type.Integer({minimum: 1, description: 'jobs in a row, this one included'}),
});
export type JobTrace = Static<typeof JobTrace>;

/** The work of a scheduled function. `args` are a wire value. */
export const FunctionWork = Type.Object({
  type: Type.Literal('function'),
  path: Type.String(),
  args: Type.Unknown(),
  trace: Type.Optional(JobTrace),
});

const Work = Type.Union([...Mutation.anyOf, FunctionWork]);
const Outcome = Type.Enum(['completed', 'failed']);
const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Failure = Type.Union([Type.String(), Type.Null()], {description: '`code: message` of a failure; null: none'});
export const NextCursor = Type.Optional(
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
  schedule: ShownSchedule,
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

export type ShownSchedule = Static<typeof ShownSchedule>;

/** One run of a cron in its history. */
export const CronRun = Type.Object({
  due: Type.Union([EpochMs, Type.Null()], {description: 'the tick that it ran for; null: a request started it'}),
  ran_at: EpochMs,
  outcome: Outcome,
  error: Failure,
});
export type CronRun = Static<typeof CronRun>;
export const FoundCron = Type.Object({cron: Cron});
export const RanCron = Type.Object({run: CronRun});
export const CronRunList = Type.Object({
  runs: Type.Array(CronRun, {description: 'the newest first'}),
  next_cursor: NextCursor,
});

const what = {
  kind: Type.Enum(['cron', 'job']),
  origin: Type.Enum(['native', 'function'], {description: 'whose work it is: a mutation of this API, or a function'}),
  id: Type.String({description: "a cron's name, a job's id"}),
  type: Type.Enum(['insert', 'update', 'delete', 'function']),
  table: Type.Union([Type.String(), Type.Null()], {description: 'that it writes; null: a function'}),
  function: Type.Union([Type.String(), Type.Null()], {description: 'its path; null: a mutation of this API'}),
};
/** One upcoming job or cron. */
export const UpcomingWork = Type.Object({
  ...what,
  due: Type.Union([EpochMs, Type.Null()], {description: 'null: a cron that is not enabled'}),
  created_at: EpochMs,
  schedule: Type.Union([...ShownSchedule.anyOf, Type.Null()], {description: 'of a cron'}),
  last_outcome: Type.Union([Outcome, Type.Null()], {description: 'of the latest run of a cron'}),
  failures: Type.Integer({minimum: 0, description: 'of a cron, since the last run that completed'}),
});
export type UpcomingWork = Static<typeof UpcomingWork>;
/** One past run. If its cron has changed since, the work shown is the cron's current one. */
export const PastRun = Type.Object({...what, ...CronRun.properties});
export type PastRun = Static<typeof PastRun>;
export const UpcomingList = Type.Object({
  scheduled: Type.Array(UpcomingWork, {description: 'the next one first; crons that are not enabled where they stood'}),
  next_cursor: NextCursor,
});
export const PastRunList = Type.Object({
  runs: Type.Array(PastRun, {description: 'the newest first'}),
  next_cursor: NextCursor,
});

/** GET …/crons/{name}/next */
export const CronTimesQuery = Type.Object({
  limit: Type.Optional(Type.Integer({minimum: 1, description: 'default 5; above 100 is 100'})),
});
export const CronTimes = Type.Object({
  times: Type.Array(EpochMs, {description: 'when it is due, the next time first; empty while it is not enabled'}),
});

export const ScheduledJob = Type.Object({job_id: Type.String()});
export const FoundJob = Type.Object({job: PendingJob});
export const FoundResult = Type.Object({result: JobResult});
export const JobList = Type.Object({
  jobs: Type.Array(PendingJob, {description: 'the next one first'}),
  next_cursor: NextCursor,
});
export const CronList = Type.Object({crons: Type.Array(Cron, {description: 'by name'}), next_cursor: NextCursor});

/** GET …/schedule, …/crons and …/tasks: a page, or, without any of these parameters, the complete list. */
export const ListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({minimum: 1, description: 'above 1,000 is 1,000'})),
  after: Type.Optional(Type.String({description: "a previous page's next_cursor"})),
});
