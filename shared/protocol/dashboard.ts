/** Wire types of dashboard sessions. /api/dashboard/… and /_dashboard/session */
import Type, {type Static} from 'typebox';

const EpochMs = Type.Number({description: 'epoch milliseconds'});
const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});

/** POST /api/dashboard/codes */
export const DashboardCode = Type.Object({
  code: Type.String({description: 'opens one session'}),
  url: orNull(Type.String(), 'the link with the code in its fragment; null: the dashboard has no address here'),
  expires_at: EpochMs,
});
export type DashboardCode = Static<typeof DashboardCode>;

export const DashboardSession = Type.Object({
  id: Type.String(),
  key: orNull(Type.String(), 'the id of the key that opened it; null: an admin credential'),
  key_name: Type.String(),
  created_at: EpochMs,
  last_used_at: Type.Number({description: 'epoch milliseconds; updated every few seconds'}),
  idle_ends_at: Type.Number({description: 'when it ends unless it is used'}),
  ends_at: Type.Number({description: 'when it ends at the latest'}),
  address: Type.String({description: 'that opened it'}),
  browser: Type.String({description: 'what the browser calls itself'}),
});
export type DashboardSession = Static<typeof DashboardSession>;

/** GET /api/dashboard/sessions */
export const DashboardSessionList = Type.Object({
  sessions: Type.Array(DashboardSession, {description: 'the most recently used first'}),
});
export type DashboardSessionList = Static<typeof DashboardSessionList>;

/** POST /_dashboard/session */
export const SignInBody = Type.Union([
  Type.Object({token: Type.String()}, {additionalProperties: false}),
  Type.Object({code: Type.String()}, {additionalProperties: false}),
]);
export type SignInBody = Static<typeof SignInBody>;

/** POST /_dashboard/downloads */
export const DownloadBody = Type.Object({path: Type.String()}, {additionalProperties: false});
/** `url`: a path with its query string, which opens the download once. */
export type Download = {url: string; expires_at: number};
