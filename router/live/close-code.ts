/** Codes of RFC 6455 and its registry: what the client did was wrong; come again at once; come again later. */
export const CloseCode = {violation: 1008, restart: 1012, overloaded: 1013} as const;
