/** Wire types of a client's messages on /ws after the handshake, tagged by `type`. Unknown fields are ignored. */
import Type, {type Static} from 'typebox';

export const Subscribe = Type.Object({
  type: Type.Literal('subscribe'),
  request_id: Type.String({description: "the caller's; echoed in the first result and in op.error"}),
  query: Type.Optional(
    Type.Unknown({
      description: 'a query object, checked by the worker: a bad or missing one is op.error, not a bad frame',
    }),
  ),
});
export const Unsubscribe = Type.Object({
  type: Type.Literal('unsubscribe'),
  subscription_id: Type.Number({description: 'from subscription_result'}),
});
/** Answered with `authenticated`, is_authenticated false. */
export const ClearAuth = Type.Object({type: Type.Literal('clear_auth')});
/** Answered with auth.unauthorized: the native route accepts credentials only at the upgrade. */
export const Authenticate = Type.Object({type: Type.Literal('authenticate')});

export const ClientMessage = Type.Union([Subscribe, Unsubscribe, ClearAuth, Authenticate]);
export type ClientMessage = Static<typeof ClientMessage>;
