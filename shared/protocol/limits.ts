/** Wire types of the limits of a tenant. GET /api/tenants/{tenant_id}/limits */
import Type, {type Static} from 'typebox';

export const LIMIT_AREAS = [
  'storage',
  'documents',
  'queries',
  'schema',
  'schedule',
  'functions',
  'deployments',
  'services',
] as const;

export const TenantLimit = Type.Object({
  name: Type.String(),
  area: Type.Enum([...LIMIT_AREAS]),
  unit: Type.Enum(['count', 'bytes', 'milliseconds']),
  limit: Type.Union([Type.Number(), Type.Null()], {description: 'null: there is none'}),
  used: Type.Union([Type.Number(), Type.Null()], {description: 'null: of each request, or not counted'}),
  meaning: Type.String(),
});
export type TenantLimit = Static<typeof TenantLimit>;

export const TenantLimits = Type.Object({limits: Type.Array(TenantLimit)});
