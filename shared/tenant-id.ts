/** The form of a tenant id. On creation anything else is 400 op.invalid_input, elsewhere 404. */
export const TENANT_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
