/**
 * Kinds of changes by which records of the journal are found, and kinds of causes; apart from their wire types, which no
 * worker loads.
 */
export const JOURNAL_KINDS = [
  'insert',
  'update',
  'delete',
  'schema',
  'table',
  'job',
  'cron',
  'deployment',
  'environment',
  'settings',
] as const;
export type JournalKind = (typeof JOURNAL_KINDS)[number];

export const JOURNAL_CAUSES = ['api', 'function', 'job', 'cron', 'task', 'import', 'system'] as const;
