/** Wire types of a tenant's auth providers. GET /api/tenants/{tenant_id}/auth, POST …/auth/check */
import Type, {type Static} from 'typebox';
import {TOKEN_CHECKS} from '../token-checks.ts';

const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});
const AnyObject = Type.Record(Type.String(), Type.Unknown());

export const AuthProviderView = Type.Object({
  type: Type.Enum(['oidc', 'customJwt']),
  issuer: Type.String({description: 'of OIDC: `domain`'}),
  application_id: orNull(Type.String(), 'null: the audience is not checked'),
  jwks: Type.String({description: 'where its keys come from: a URL, for OIDC of its metadata, or a data: URI'}),
  algorithms: Type.Array(Type.String()),
});
export type AuthProviderView = Static<typeof AuthProviderView>;

/** GET …/auth */
export const AuthProviders = Type.Object({
  providers: Type.Array(AuthProviderView, {description: 'of the active deployment; empty: every token is refused'}),
});

/** POST …/auth/check */
export const TokenBody = Type.Object(
  {token: Type.String({description: 'a JWT, with or without `Bearer ` before it'})},
  {additionalProperties: false},
);

export const TokenCheck = Type.Object({
  check: Type.Enum([...TOKEN_CHECKS], {
    description:
      '`keys`: they could be fetched; `key`: the one that the token names is among them; `not_before`, `expiry`, ' +
      '`issued_at`: times; `size`: of the claims',
  }),
  outcome: Type.Enum(['passed', 'failed', 'skipped'], {description: '`skipped`: a check before it failed'}),
  text: Type.String({description: 'what was found'}),
  to_do: orNull(Type.String(), 'of a failed check: what would be right'),
});
export type TokenCheck = Static<typeof TokenCheck>;

export const TokenExamination = Type.Object({
  is_valid: Type.Boolean(),
  checks: Type.Array(TokenCheck, {description: 'all of them, in their order'}),
  header: orNull(AnyObject, 'as the token has it, verified or not; null: it has none'),
  claims: orNull(AnyObject, 'the same'),
  identity: orNull(AnyObject, 'what functions get; null: the token is refused'),
});
export type TokenExamination = Static<typeof TokenExamination>;
