/**
 * The protocol name of live functions on /svc/{tenant_id}/ws. The offered WebSocket subprotocol and the `protocol` of
 * client_hello must both equal it. A change that an old client would not understand requires a new name.
 */
export const FUNCTION_PROTOCOL = 'svc.functions.v1';
