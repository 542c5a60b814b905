/**
 * What a client sends on the function socket, tagged by `type`. Unknown fields are ignored; a frame that is none of these is answered by
 * `fatal_error` and the end of the socket: a client that is wrong about the protocol cannot be right about the rest.
 *
 * Values are wire values (`shared/values/wire-value.ts`): JSON, and the numbers that JSON cannot hold as `{"$float": …}`.
 */
import Type, {type Static} from 'typebox';
import {QUERY_CHANGES_MAX} from '../../limits.ts';
import {DataVersion} from '../function-calls.ts';

/** Larger ones are not told apart, and no table takes them. */
const WHOLE = {minimum: 0, maximum: Number.MAX_SAFE_INTEGER};
const Version = Type.Integer(WHOLE);
const Id = Type.Integer({
  ...WHOLE,
  description: "the client's choice; never used twice for another thing in its life",
});
const Path = Type.String({description: 'of the function: module:name'});

/** First, once. The client need not wait for `hello`, and may send what follows at once. */
export const ClientHello = Type.Object({
  type: Type.Literal('client_hello'),
  protocol: Type.String(),
  client_id: Type.String({
    minLength: 16,
    maxLength: 64,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'random, of one client object: under it mutations are run once, whatever happens to the socket',
  }),
  /** Sockets that this client has opened before this one. */
  connection_count: Version,
  last_close_reason: Type.Optional(Type.String({maxLength: 200})),
  /** The newest moment whose results it has shown: it is never shown an older one. Only with the timeline that it belongs to. */
  seen: Type.Optional(DataVersion),
  /** Whether transitions shall say what made each query run again, as far as the server tells clients of its errors, too. */
  explain: Type.Optional(Type.Boolean()),
});

export const AddQuery = Type.Object({
  type: Type.Literal('add'),
  query_id: Id,
  path: Path,
  args: Type.Unknown(),
  /** Whether it is wanted as a paginated query; else as a plain one. A function of the other kind fails as in calls over HTTP. */
  paginated: Type.Optional(Type.Boolean()),
  /** As the server gave it with an earlier result: where the pages of that end. */
  journal: Type.Optional(Type.String({maxLength: 16_384})),
  /** The digest of the result that the client still shows: an equal one is not sent. */
  known: Type.Optional(Type.String({maxLength: 64})),
});
export const RemoveQuery = Type.Object({type: Type.Literal('remove'), query_id: Id});

/** Changes the set of queries that the client watches, all at once. */
export const QuerySet = Type.Object({
  type: Type.Literal('query_set'),
  /** The version of the set before; of a new socket: 0, and the set is empty. */
  base_version: Version,
  new_version: Version,
  /** An honest client says of each query once what has become of it. */
  changes: Type.Array(Type.Union([AddQuery, RemoveQuery]), {maxItems: QUERY_CHANGES_MAX}),
  /** What it has shown meanwhile that came another way, as in a page that a server rendered: from here on, nothing older is sent. */
  seen: Type.Optional(DataVersion),
});

/** Answered by `mutation_result`. Run in the order of their arrival, each after the commit of the one before, and once. */
export const Mutation = Type.Object({
  type: Type.Literal('mutation'),
  /** Greater than that of each mutation before. */
  request_id: Id,
  path: Path,
  args: Type.Unknown(),
  /** The client has the outcome of all its mutations below this number, and will not ask for them again. */
  settled_below: Version,
});

/** Answered by `action_result`. They run beside each other, and are never run for a second time. */
export const Action = Type.Object({type: Type.Literal('action'), request_id: Id, path: Path, args: Type.Unknown()});

/** From now on the caller is who this token says. Confirmed by the transition to this version, or refused by `auth_error`. */
export const Authenticate = Type.Object({
  type: Type.Literal('authenticate'),
  token: Type.String(),
  base_version: Version,
  new_version: Version,
});
/** From now on the caller is nobody. */
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
