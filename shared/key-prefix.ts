/** The prefix of every key's secret, in its own module because clients use it to tell a key from another credential. */
export const KEY_PREFIX = 'svc_key_';
