/**
 * The name of the live-subscription protocol: the offered WebSocket subprotocol and the `protocol` of client_hello must
 * both equal it. A change that an old client would not understand requires a new name.
 */
export const PROTOCOL = 'svc.v2';

/** The features that `hello` announces. Tags are only ever added. */
export const FEATURES = ['queries.v1', 'subscriptions.v1'];
