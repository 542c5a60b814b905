/** Wire types of the tenant routes. POST|GET|DELETE /api/tenants… */
import Type, {type Static} from 'typebox';

/** The form of a tenant id. On creation anything else is 400 op.invalid_input, elsewhere 404. */
export const TENANT_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export const CreateTenantBody = Type.Object({id: Type.String()});
export type CreateTenantBody = Static<typeof CreateTenantBody>;

export const CreatedTenant = Type.Object({id: Type.String()});
export const TenantList = Type.Object({tenants: Type.Array(Type.String(), {description: 'sorted'})});
