/** Where the chain of a journal begins, and the version of what it chains. */

/** The "previous digest" of the first record. */
export const FIRST_PREVIOUS_DIGEST = '0'.repeat(64);
export const JOURNAL_VERSION = 1;
