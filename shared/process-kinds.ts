/** Kinds of the processes of a server, by which their memory and CPU time are summed up; apart from their wire types. */
export const PROCESS_KINDS = [
  'supervisor',
  'router',
  'worker',
  'spare',
  'egress',
  'copier',
  'cluster',
  'isolates',
  'node',
  'sandbox',
  'analysis',
  'other',
] as const;
export type ProcessKind = (typeof PROCESS_KINDS)[number];
