/**
 * Wire types of tasks: changes of all documents that a query finds, and drops of tables.
 * /api/tenants/{tenant_id}/tasks…, DELETE …/tables/{table}
 */
import Type, {type Static} from 'typebox';
import {PatchBody} from './documents.ts';
import {QueryObject} from './queries.ts';
import {NextCursor} from './schedule.ts';

const closed = {additionalProperties: false} as const;
const {table, filters} = QueryObject.properties;
const TaskQuery = Type.Object({table, filters}, closed);
const TaskType = Type.Enum(['delete', 'patch']);
const OnError = Type.Enum(['stop', 'skip'], {
  description: 'when a document refuses its patch: stop (default), which fails the task, or skip',
});

/** POST …/tasks */
export const TaskBody = Type.Object(
  {type: TaskType, query: TaskQuery, on_error: Type.Optional(OnError), ...PatchBody.properties},
  closed,
);
export type TaskBody = Static<typeof TaskBody>;

const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Failure = Type.Object({id: Type.String(), code: Type.String(), message: Type.String()});

export const Task = Type.Object({
  id: Type.String(),
  type: Type.Enum(['delete', 'patch', 'drop']),
  query: TaskQuery,
  state: Type.Enum(['running', 'completed', 'failed', 'cancelled']),
  changed: Type.Integer({minimum: 0, description: 'documents that are deleted or patched, on disk'}),
  failed: Type.Integer({minimum: 0, description: 'documents that refused their patch and were passed over'}),
  errors: Type.Array(Failure, {description: 'the first of those; of a task that failed, why'}),
  created_at: EpochMs,
  updated_at: EpochMs,
});
export type Task = Static<typeof Task>;

export const StartedTask = Type.Object({id: Type.String()});
export type StartedTask = Static<typeof StartedTask>;
export const FoundTask = Type.Object({task: Task});
export type FoundTask = Static<typeof FoundTask>;
const Damaged = Type.Optional(
  Type.Array(Type.String(), {description: 'ids of those whose records are damaged in the file; absent: none are'}),
);
export const TaskList = Type.Object({
  tasks: Type.Array(Task, {description: 'the newest first'}),
  damaged: Damaged,
  next_cursor: NextCursor,
});
export type TaskList = Static<typeof TaskList>;
