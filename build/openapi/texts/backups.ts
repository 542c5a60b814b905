/** Texts of backups. */
import type {OperationTexts} from './text.ts';

const point = {at: 1767225660000, sequence: 1041, commit: 977};
const last_proof = {at: 1767225600000, passed: true, point, finding: null, object: null};
const acme = {id: 'acme', newest: point, age_ms: 0, spool_bytes: 0, fault: null, last_proof};

export const BACKUP_TEXTS: OperationTexts<
  'backup.status' | 'backup.run' | 'backup.drill' | 'backup.points' | 'tenants.restore'
> = {
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
          drill: {every_ms: 604_800_000, running: null, last: {at: 1767225600000, tenants: 10, failed: 0}},
        },
        tenants: [acme],
        next_cursor: null,
      },
    },
  },
  'backup.run': {
    tag: 'server',
    summary: 'Copy everything now',
    description:
      'Answers once every commit that was durable when the request arrived is in the repository and was read back. ' +
      'If that takes too long, or the store fails, the answer is 503 and its detail names the tenants that are missing.',
    errors: ['op.conflict', 'session.worker_unavailable'],
    example: {answer: {tenants: 12, took_ms: 84}},
  },
  'backup.drill': {
    tag: 'server',
    summary: 'Prove copies by restoring them',
    description:
      'Begins a drill: restores the newest copies of tenants into a scratch directory, one at a time, checks them, ' +
      'starts their functions and calls a query. `GET /api/backup` shows how far it is, and what it has proven.',
    errors: ['op.conflict', 'session.worker_unavailable'],
    example: {
      query: {tenants: 3},
      answer: {drill: {every_ms: 604_800_000, running: {done: 0, total: 0}, last: null}},
    },
  },
  'tenants.restore': {
    tag: 'tenants',
    summary: 'Make a tenant of a copy',
    description:
      'Restores a copy as a new tenant, or replaces one with `replace=true`, whose directory stays for a week. ' +
      'The new tenant has a timeline of its own. Unless it is `live`, it is paused, answers reads, and runs nothing.',
    errors: [
      'op.not_found',
      'op.conflict',
      'session.tenant_exists',
      'session.tenant_not_found',
      'session.storage_full',
      'session.overloaded',
    ],
    example: {
      query: {as: 'acme-2026-01-01-0001'},
      answer: {tenant: 'acme-2026-01-01-0001', from: 'acme', point, live: false, gap: null},
    },
  },
  'backup.points': {
    tag: 'tenants',
    summary: 'What can be restored of a tenant',
    description: 'From the repository. Does not wake the tenant.',
    errors: ['session.tenant_not_found', 'op.conflict', 'session.worker_unavailable'],
    example: {
      query: {before: 1767225700000},
      answer: {
        tenant: acme,
        ranges: [
          {
            timeline: '5f0c2e8f6f5a4f0f9d0f7d3f5b1c2a3e',
            from: {at: 1767225600000, sequence: 1, commit: 3},
            to: point,
            points: 412,
          },
        ],
        points: [point],
        has_more: true,
        gap: null,
      },
    },
  },
};
