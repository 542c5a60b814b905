/**
 * Wire types of sessions: a caller's lease on a tenant. /api/sessions…
 *
 *   open ──close──▶ closed
 *     └──ttl_ms without use──▶ expired
 *
 * Use extends the lease. The session's own sandbox, which it created, ends with it; a sandbox that it was given stays.
 */
import Type, {type Static} from 'typebox';
import {SESSION_TTL_MS_MAX, SESSION_TTL_MS_MIN} from '../limits.ts';

/** POST /api/sessions */
export const SessionBody = Type.Object({
  tenant: Type.String(),
  /** A running sandbox; without it the first execution creates one for the session. */
  sandbox_id: Type.Optional(Type.String()),
  ttl_ms: Type.Optional(Type.Integer({minimum: SESSION_TTL_MS_MIN, maximum: SESSION_TTL_MS_MAX})),
  /** The caller's data, stored unchanged. */
  metadata: Type.Optional(Type.Object({})),
});
export type SessionBody = Static<typeof SessionBody>;

/** A session as routes show it and as it is stored. Times are epoch milliseconds. */
export const SessionRecord = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  /** Where it executes; null: it has not executed yet, and its first execution creates one. */
  sandbox_id: Type.Union([Type.String(), Type.Null()]),
  ttl_ms: Type.Integer(),
  metadata: Type.Object({}),
  state: Type.Enum(['open', 'closed', 'expired']),
  created_at: Type.Integer(),
  last_used_at: Type.Integer(),
  expires_at: Type.Integer(),
  ended_at: Type.Union([Type.Integer(), Type.Null()]),
});
export type SessionRecord = Static<typeof SessionRecord>;

/** POST /api/sessions, GET /api/sessions/{session_id}, POST …/close */
export const FoundSession = Type.Object({session: SessionRecord});
/** GET /api/sessions, the oldest first */
export const SessionList = Type.Object({sessions: Type.Array(SessionRecord)});
/** Query string of GET /api/sessions */
export const SessionQuery = Type.Object({tenant: Type.String()});
