/**
 * Wire types of sandboxes: isolated execution of code that the tenant does not trust.
 * …/api/tenants/{tenant_id}/sandboxes…, and `execute` of sessions
 *
 *   running ──stop | its session closes──▶ stopped
 *      ├──ttl_ms after its creation──▶ expired
 *      └──its process ends | code that had to be cut off | out of memory──▶ failed
 *
 * A sandbox has no content in any state but `running`, and no state leads back: executions in other states are refused.
 */
import Type, {type Static} from 'typebox';
import {
  SANDBOX_CODE_CHARS_MAX,
  SANDBOX_CPU_MS_MAX,
  SANDBOX_EXECUTE_MS_MAX,
  SANDBOX_TTL_MS_MAX,
  SANDBOX_TTL_MS_MIN,
} from '../limits.ts';
import {NODE_VERSIONS} from '../node-version.ts';
import {AnyKey} from './any-key.ts';

const SandboxRuntime = Type.Enum(['isolate', 'node']);

/** POST …/sandboxes. Missing members have the defaults of shared/limits.ts. */
export const SandboxBody = Type.Object({
  runtime: Type.Optional(SandboxRuntime),
  /** Only with `runtime: "node"`. */
  node_version: Type.Optional(Type.Union([Type.Enum(NODE_VERSIONS), Type.Null()])),
  /** The maximum depends on the runtime. */
  memory_mb: Type.Optional(Type.Integer()),
  /** CPU time of one execution. */
  cpu_ms: Type.Optional(Type.Integer({minimum: 1, maximum: SANDBOX_CPU_MS_MAX})),
  /** Lifetime from its creation. */
  ttl_ms: Type.Optional(Type.Integer({minimum: SANDBOX_TTL_MS_MIN, maximum: SANDBOX_TTL_MS_MAX})),
  /** The process.env of its code, which sees nothing else of the tenant's. */
  env: Type.Optional(Type.Record(AnyKey, Type.String())),
  /** Whether its code can fetch, under the tenant's egress policy. */
  network: Type.Optional(Type.Boolean()),
});
export type SandboxBody = Static<typeof SandboxBody>;

/** POST …/sandboxes/{sandbox_id}/execute, and /api/sessions/{session_id}/execute */
export const ExecuteBody = Type.Object({
  /** The body of an async function of `args`. */
  code: Type.String({minLength: 1, maxLength: SANDBOX_CODE_CHARS_MAX}),
  args: Type.Optional(Type.Unknown()),
  /** Includes waiting; counts from the start of the execution. */
  timeout_ms: Type.Optional(Type.Integer({minimum: 1, maximum: SANDBOX_EXECUTE_MS_MAX})),
});
export type ExecuteBody = Static<typeof ExecuteBody>;

export const SandboxState = Type.Enum(['running', 'stopped', 'expired', 'failed']);
export type SandboxState = Static<typeof SandboxState>;

/** A sandbox as routes show it and as it is stored. Times are epoch milliseconds. */
export const SandboxRecord = Type.Object({
  id: Type.String(),
  runtime: SandboxRuntime,
  /** Null: it is not a Node sandbox. */
  node_version: Type.Union([Type.Enum(NODE_VERSIONS), Type.Null()]),
  memory_mb: Type.Integer(),
  cpu_ms: Type.Integer(),
  ttl_ms: Type.Integer(),
  env: Type.Record(Type.String(), Type.String()),
  network: Type.Boolean(),
  state: SandboxState,
  /** The session that created it and whose end stops it; null: none. */
  session_id: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.Integer(),
  expires_at: Type.Integer(),
  ended_at: Type.Union([Type.Integer(), Type.Null()]),
  /** Why it is `failed`. */
  error: Type.Union([Type.String(), Type.Null()]),
});
export type SandboxRecord = Static<typeof SandboxRecord>;

/** POST …/sandboxes, GET …/sandboxes/{sandbox_id}, POST …/stop */
export const FoundSandbox = Type.Object({sandbox: SandboxRecord});
/** GET …/sandboxes, the oldest first */
export const SandboxList = Type.Object({sandboxes: Type.Array(SandboxRecord)});

/** The answer to an execution. */
export const Executed = Type.Object({
  value: Type.Unknown(),
  log_lines: Type.Array(Type.String()),
  duration_ms: Type.Number(),
});

/** Why an execution has no value. */
export type ExecutionFault = 'syntax' | 'threw' | 'timed_out' | 'out_of_memory' | 'unfinished' | 'ended';

/** `detail` of sandbox.execution_failed 422. */
export type ExecutionFailure = {
  reason: ExecutionFault;
  name: string;
  stack: string | null;
  log_lines: string[];
  duration_ms: number;
  /** The sandbox's current state: its content is gone unless it is `running`. */
  state: SandboxState;
};
