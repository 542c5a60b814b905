/** Close codes of RFC 6455 and its registry: the client violated a rule; reconnect at once; reconnect later. */
export const CloseCode = {violation: 1008, restart: 1012, overloaded: 1013} as const;
