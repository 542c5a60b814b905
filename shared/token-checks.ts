/** The checks of a user's token in their order: the first one that fails decides. Apart from their wire types. */
export const TOKEN_CHECKS = [
  'form',
  'issuer',
  'audience',
  'algorithm',
  'keys',
  'key',
  'signature',
  'not_before',
  'expiry',
  'issued_at',
  'size',
] as const;
export type TokenCheckName = (typeof TOKEN_CHECKS)[number];
