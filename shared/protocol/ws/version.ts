/**
 * The name of the live-subscription protocol: the WebSocket subprotocol offered and the `protocol` of client_hello must both
 * equal it. A change that an old client would not understand takes a new name.
 */
export const PROTOCOL = 'svc.v2';

/** What `hello` says the server can do. Tags are only ever added. */
export const FEATURES = ['queries.v1', 'subscriptions.v1'];
