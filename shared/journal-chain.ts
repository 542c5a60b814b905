/** The first digest and the version of a journal's hash chain. */

/** The "previous digest" of the first record. */
export const FIRST_PREVIOUS_DIGEST = '0'.repeat(64);
export const JOURNAL_VERSION = 1;
