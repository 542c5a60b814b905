/** Wire types of the function endpoints of a deployment, POST /svc/{tenant_id}/…, and of POST …/functions/run. */
import Type, {type Static} from 'typebox';

const CALL = {
  path: Type.String({description: '`messages:list`, or `messages` for a default export'}),
  args: Type.Optional(Type.Unknown({description: 'an object, or an array that holds one; {} when missing'})),
  format: Type.Optional(Type.Enum(['json', 'svc_encoded_json'])),
};
/** POST …/mutation, …/action */
export const FunctionCallBody = Type.Object(CALL);

/** POST …/query, …/query/paginated */
export const QueryCallBody = Type.Object({
  ...CALL,
  version: Type.Optional(Type.Boolean({description: 'the reply says of which version of the data the value is'})),
});

/** POST /api/tenants/{tenant_id}/functions/run */
export const FunctionRunBody = Type.Object({
  path: Type.String(),
  args: Type.Optional(Type.Unknown()),
  identity: Type.Optional(Type.Unknown({description: 'the result of ctx.auth.getUserIdentity(); default: null'})),
  format: Type.Optional(Type.Enum(['json', 'svc_encoded_json'])),
});

/** POST /api/tenants/{tenant_id}/functions/watch */
export const FunctionWatchBody = Type.Object({
  path: Type.String({description: 'of a query'}),
  args: Type.Optional(Type.Unknown()),
  identity: Type.Optional(Type.Unknown({description: 'as for functions/run'})),
});

/** POST …/schedule/run_after */
export const RunAfterBody = Type.Object({
  path: Type.String(),
  args: Type.Optional(Type.Unknown()),
  delayMs: Type.Number({minimum: 0}),
});
/** POST …/schedule/run_at */
export const RunAtBody = Type.Object({
  path: Type.String(),
  args: Type.Optional(Type.Unknown()),
  timestampMs: Type.Number({description: 'epoch milliseconds; a past time is as soon as possible'}),
});

const LOG_LINES = {logLines: Type.Optional(Type.Array(Type.String()))};
const SUCCESS = {status: Type.Literal('success'), value: Type.Unknown()};
const FAILURE = Type.Object({status: Type.Literal('error'), errorMessage: Type.String(), ...LOG_LINES});

/** The answer to a call. Values are wire values (`$float`). */
export const FunctionReply = Type.Union([Type.Object({...SUCCESS, ...LOG_LINES}), FAILURE]);
export type FunctionReply = Static<typeof FunctionReply>;

const BECAUSE = {
  because: Type.Object(
    {
      cause: Type.Enum(['added', 'identity', 'deployment', 'environment', 'schema', 'unknown', 'written']),
      ts: Type.Optional(Type.Integer({description: 'the commit that wrote'})),
      table: Type.Optional(Type.String()),
      id: Type.Optional(Type.String({description: 'of the written document'})),
    },
    {description: 'why the query ran'},
  ),
};
/** An event of …/functions/watch. */
export const WatchedReply = Type.Union([
  Type.Object({...SUCCESS, ...LOG_LINES, ...BECAUSE}),
  Type.Object({...FAILURE.properties, ...BECAUSE}),
]);
export type WatchedReply = Static<typeof WatchedReply>;

/** The newest commit that a client has seen, as a sequence of this timeline's journal. */
export const DataVersion = Type.Object({
  timeline: Type.String({maxLength: 64}),
  ts: Type.Integer({minimum: 0, maximum: Number.MAX_SAFE_INTEGER}),
});

/** The answer to a query. */
export const QueryReply = Type.Union([
  Type.Object({...SUCCESS, ...LOG_LINES, version: Type.Optional(DataVersion)}),
  FAILURE,
]);

export const ScheduledCall = Type.Object({jobId: Type.String()});
