/** The place of tenants' copies in a data directory that follows a repository: no server starts on such a directory. */
export const STANDBY_DIRECTORY = 'standby';
