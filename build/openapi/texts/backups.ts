/** Texts of backups. */
import type {OperationTexts} from './text.ts';

const point = {at: 1767225660000, sequence: 1041, commit: 977};

export const BACKUP_TEXTS: OperationTexts<'backup.status'> = {
  'backup.status': {
    tag: 'server',
    summary: 'State of the backups',
    description: 'Which repository the server copies to, and how old the oldest commit is that it does not have.',
    example: {
      query: {limit: 10},
      answer: {
        backup: {
          to: 's3://backups/svc',
          repository_id: '5f0c2e8f6f5a4f0f9d0f7d3f5b1c2a3e',
          every_ms: 1000,
          state: 'running',
          age_ms: 0,
          spool_bytes: 0,
          last_success_at: 1767225661000,
          last_fault: null,
        },
        tenants: [{id: 'acme', newest: point, age_ms: 0, spool_bytes: 0, fault: null}],
        next_cursor: null,
      },
    },
  },
};
