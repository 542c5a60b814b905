/** Wire types of the environment's routes. GET|PUT|DELETE /api/tenants/{tenant_id}/env… */
import Type from 'typebox';
import {ENVIRONMENT_VALUE_BYTES_MAX} from '../limits.ts';

/** PUT …/env/{name} */
export const VariableBody = Type.Object({value: Type.String({maxLength: ENVIRONMENT_VALUE_BYTES_MAX})});

/** GET …/env */
export const VariableList = Type.Object({env: Type.Record(Type.String(), Type.String(), {description: 'by name'})});
/** GET …/env/{name} */
export const Variable = Type.Object({name: Type.String(), value: Type.String()});
