import {describe, expect, test} from 'vitest';
import {ROUTES} from '../../router/routes.ts';
import {OPERATIONS, type Operation, OWN_OPERATIONS, traitsOf} from '../../shared/operations.ts';
import {RIGHTS, SCOPES, type Trace} from '../../shared/rights.ts';

describe('the table of rights', () => {
  test('every route has a row, and what an operator may change needs a scope', () => {
    for (const {pattern, method, access, rights} of ROUTES) {
      expect(rights, pattern).toBeDefined();
      const isOfSession = pattern.startsWith('/api/dashboard/');
      const isChange = access === 'admin' && ['PUT', 'PATCH', 'DELETE'].includes(method) && !isOfSession;
      if (isChange) expect([method, pattern, rights.scopes]).not.toContainEqual([]);
    }
  });

  test('every scope opens something, and what is audited needs one', () => {
    const rows = Object.entries(RIGHTS);
    const ofSessions = ([name]: [string, unknown]) => name.startsWith('dashboard.'); // of the caller's own credential
    expect(SCOPES.filter(scope => !rows.some(([, rights]) => rights.scopes.includes(scope)))).toEqual([]);
    const audited = rows.filter(row => row[1].trace === 'audit' && !ofSessions(row));
    expect(audited.filter(([, {scopes}]) => scopes.length === 0)).toEqual([]);
  });

  test('all that changes something has a record: an action in the audit log, documents in the journal, code in its logs', () => {
    const traced = (trace: Trace | null) =>
      (Object.keys(RIGHTS) as (keyof typeof RIGHTS)[]).filter(name => RIGHTS[name].trace === trace);
    const isChange = (name: keyof typeof RIGHTS) =>
      name in OPERATIONS
        ? traitsOf(name as Operation).kind === 'write'
        : OWN_OPERATIONS[name as keyof typeof OWN_OPERATIONS].method !== 'GET';
    expect(traced(null).filter(isChange)).toEqual([]);
    for (const trace of ['audit', 'journal', 'deployments'] as const) {
      expect(traced(trace).filter(name => !isChange(name))).toEqual([]);
    }
    const rooms = new Set(traced('audit').map(name => name.split('.')[0]));
    for (const room of [
      'tenants',
      'keys',
      'schema',
      'crons',
      'tasks',
      'imports',
      'deployments',
      'env',
      'settings',
      'services',
      'sandboxes',
      'sessions',
    ])
      expect(rooms).toContain(room);
    const others = [...traced('journal'), ...traced('logs'), ...traced('deployments')].map(name => name.split('.')[0]!);
    expect([...new Set(others)].sort()).toEqual([
      'documents',
      'functions',
      'packages',
      'sandboxes',
      'schedule',
      'sessions',
      'transactions',
    ]);
  });

  test('whatever names a table in its path is judged by it', () => {
    for (const {pattern, rights} of ROUTES)
      if (pattern.includes('{table}') && rights.tables !== 'path')
        expect([pattern, rights.tables]).toEqual([pattern, expect.objectContaining({path: true})]);
  });
});
