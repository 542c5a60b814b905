/** What the secret of every key begins with: apart, for clients tell a key from another credential by it. */
export const KEY_PREFIX = 'svc_key_';
