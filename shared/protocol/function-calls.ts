/** Wire types of the function endpoints of a deployment, POST /svc/{tenant_id}/…, and of POST …/functions/run. */
import Type, {type Static} from 'typebox';

/** POST …/query, …/query/paginated, …/mutation, …/action */
export const FunctionCallBody = Type.Object({
  path: Type.String({description: '`messages:list`, or `messages` for a default export'}),
  args: Type.Optional(Type.Unknown({description: 'an object, or an array that holds one; {} when missing'})),
  format: Type.Optional(Type.Enum(['json', 'svc_encoded_json'])),
});
export type FunctionCallBody = Static<typeof FunctionCallBody>;

/** POST /api/tenants/{tenant_id}/functions/run */
export const FunctionRunBody = Type.Object({
  path: Type.String(),
  args: Type.Optional(Type.Unknown()),
  identity: Type.Optional(Type.Unknown({description: 'what ctx.auth.getUserIdentity() gives; null when missing'})),
  format: Type.Optional(Type.Enum(['json', 'svc_encoded_json'])),
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

/** What the calls answer. Values are wire values (`$float`). */
export const FunctionReply = Type.Union([
  Type.Object({
    status: Type.Literal('success'),
    value: Type.Unknown(),
    logLines: Type.Optional(Type.Array(Type.String())),
  }),
  Type.Object({
    status: Type.Literal('error'),
    errorMessage: Type.String(),
    logLines: Type.Optional(Type.Array(Type.String())),
  }),
]);
export type FunctionReply = Static<typeof FunctionReply>;

export const ScheduledCall = Type.Object({jobId: Type.String()});
