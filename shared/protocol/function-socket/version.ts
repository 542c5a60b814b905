/**
 * The name of the protocol of live functions, on /svc/{tenant_id}/ws: the WebSocket subprotocol that is offered and the `protocol` of
 * client_hello both equal it. A change that an old client would not understand takes a new name.
 */
export const FUNCTION_PROTOCOL = 'svc.functions.v1';
