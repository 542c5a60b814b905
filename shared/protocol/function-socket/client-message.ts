/**
 * Wire types of a client's messages on the function socket, tagged by `type`. Unknown fields are ignored. A frame of no
 * known type is answered by `fatal_error`, and the socket is closed: a client that breaks the protocol cannot be
 * trusted with the rest.
 *
 * Values are wire values (`shared/values/wire-value.ts`): JSON, with numbers that JSON cannot hold as `{"$float": …}`.
 */
import Type, {type Static} from 'typebox';
import {QUERY_CHANGES_MAX} from '../../limits.ts';
import {DataVersion} from '../function-calls.ts';

/** Larger numbers are not exact doubles, and no table accepts them. */
const WHOLE = {minimum: 0, maximum: Number.MAX_SAFE_INTEGER};
const Version = Type.Integer(WHOLE);
const Id = Type.Integer({
  ...WHOLE,
  description: "the client's choice; never used twice for another thing in its life",
});
const Path = Type.String({description: 'of the function: module:name'});

/** The first message of a session. The client need not wait for `hello`, and can send the next messages at once. */
export const ClientHello = Type.Object({
  type: Type.Literal('client_hello'),
  protocol: Type.String(),
  client_id: Type.String({
    minLength: 16,
    maxLength: 64,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'random, of one client object: under it mutations are run once, whatever happens to the socket',
  }),
  /** Number of sockets that this client opened before this one. */
  connection_count: Version,
  last_close_reason: Type.Optional(Type.String({maxLength: 200})),
  /**
   * The newest version whose results the client has shown: it never gets an older one. Only with the timeline that it
   * belongs to.
   */
  seen: Type.Optional(DataVersion),
  /**
   * Whether transitions should say why each query ran again, provided that the server discloses its errors to clients.
   */
  explain: Type.Optional(Type.Boolean()),
  /**
   * Whether the client accepts further `hello`s on this socket, each of which begins a new session. Otherwise the socket
   * is closed when its tenant gets another worker.
   */
  resumes: Type.Optional(Type.Boolean()),
  /** In the answer to a further `hello`: the id of its session. Until then, the server ignores what it gets. */
  session: Type.Optional(Type.String({maxLength: 64})),
});

export const AddQuery = Type.Object({
  type: Type.Literal('add'),
  query_id: Id,
  path: Path,
  args: Type.Unknown(),
  /**
   * Whether it is subscribed as a paginated query or as a plain one. A function of the other kind fails as in calls
   * over HTTP.
   */
  paginated: Type.Optional(Type.Boolean()),
  /** The server's value from an earlier result: where the pages of that result end. */
  journal: Type.Optional(Type.String({maxLength: 16_384})),
  /** The digest of the result that the client still shows: an equal result is not sent again. */
  known: Type.Optional(Type.String({maxLength: 64})),
});
export const RemoveQuery = Type.Object({type: Type.Literal('remove'), query_id: Id});

/** Changes the set of the client's subscribed queries, all at once. */
export const QuerySet = Type.Object({
  type: Type.Literal('query_set'),
  /** The version of the previous set; for a new socket 0, with an empty set. */
  base_version: Version,
  new_version: Version,
  /** At most one change per query from a correct client. */
  changes: Type.Array(Type.Union([AddQuery, RemoveQuery]), {maxItems: QUERY_CHANGES_MAX}),
  /**
   * The newest version that the client got another way in the meantime, for example in a server-rendered page: from
   * here on, nothing older is sent.
   */
  seen: Type.Optional(DataVersion),
});

/**
 * Answered by `mutation_result`. Mutations run in the order of arrival, each after the commit of the previous one, and
 * once.
 */
export const Mutation = Type.Object({
  type: Type.Literal('mutation'),
  /** Greater than that of every earlier mutation. */
  request_id: Id,
  path: Path,
  args: Type.Unknown(),
  /** The client has the outcomes of all its mutations below this number, and will not request them again. */
  settled_below: Version,
});

/** Answered by `action_result`. Actions run concurrently, and never run a second time. */
export const Action = Type.Object({type: Type.Literal('action'), request_id: Id, path: Path, args: Type.Unknown()});

/**
 * From now on the caller is the user of this token. Confirmed by the transition to this version, or refused by
 * `auth_error`.
 */
export const Authenticate = Type.Object({
  type: Type.Literal('authenticate'),
  token: Type.String(),
  base_version: Version,
  new_version: Version,
});
/** From now on the caller is anonymous. */
export const ClearAuth = Type.Object({type: Type.Literal('clear_auth'), base_version: Version, new_version: Version});

export type ClientHello = Static<typeof ClientHello>;
export type QuerySet = Static<typeof QuerySet>;
export type ClientMessage =
  | ClientHello
  | QuerySet
  | Static<typeof Mutation>
  | Static<typeof Action>
  | Static<typeof Authenticate>
  | Static<typeof ClearAuth>;
export type QueryChange = Static<typeof AddQuery> | Static<typeof RemoveQuery>;
