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

/** The envelope of a mutation; the members are checked one by one, so that a message can name the field at fault. */
export const MutationTag = Type.Object({type: Type.Enum(['insert', 'update', 'delete'])});

/** POST …/schedule */
export const ScheduleBody = Type.Object({
  run_after_ms: Type.Number({minimum: 0, maximum: RUN_AFTER_MS_MAX}),
  mutation: MutationTag,
});

/** POST …/crons */
export const CronBody = Type.Object({
  name: Type.String(),
  schedule: Type.Object({
    type: Type.Literal('interval'),
    seconds: Type.Number({minimum: CRON_SECONDS_MIN, maximum: CRON_SECONDS_MAX}),
  }),
  mutation: MutationTag,
});

export type PendingJob = {id: string; run_at: number; mutation: Mutation; created_at: number};
export type JobResult = {
  id: string;
  run_at: number;
  finished_at: number;
  mutation: Mutation;
  outcome: 'completed' | 'failed';
  /** `code: message` of a failure, else null. */
  error: string | null;
};
export type Cron = {
  name: string;
  schedule: {type: 'interval'; seconds: number};
  mutation: Mutation;
  enabled: boolean;
  last_run: number | null;
  next_run: number;
  created_at: number;
  /** Of the latest run; null: none yet. */
  last_outcome: 'completed' | 'failed' | null;
  /** `code: message` when that run failed, else null. */
  last_error: string | null;
  /** Runs that failed since the last one that completed. */
  failures: number;
};
