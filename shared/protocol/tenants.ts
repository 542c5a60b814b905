/** Wire types of the tenant routes. POST|GET|DELETE /api/tenants… */
import Type, {type Static} from 'typebox';

export const CreateTenantBody = Type.Object({id: Type.String()});
export type CreateTenantBody = Static<typeof CreateTenantBody>;

export const CreatedTenant = Type.Object({id: Type.String()});
export const TenantList = Type.Object({tenants: Type.Array(Type.String(), {description: 'sorted'})});
