export const LIMIT = 5;
