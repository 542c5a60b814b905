import {describe, expect, test} from 'vitest';
import {ROUTES} from '../../router/http/routes.ts';
import {RIGHTS, SCOPES} from '../../shared/rights.ts';

describe('the table of rights', () => {
  test('every route has a row, and what an operator may change needs a scope', () => {
    for (const {pattern, method, access, rights} of ROUTES) {
      expect(rights, pattern).toBeDefined();
      const isChange = access === 'admin' && ['PUT', 'PATCH', 'DELETE'].includes(method);
      if (isChange) expect([method, pattern, rights.scopes]).not.toContainEqual([]);
    }
  });

  test('every scope opens something, and what is audited needs one', () => {
    const rows = Object.entries(RIGHTS);
    expect(SCOPES.filter(scope => !rows.some(([, rights]) => rights.scopes.includes(scope)))).toEqual([]);
    expect(rows.filter(([, {isAudited, scopes}]) => isAudited && scopes.length === 0)).toEqual([]);
  });

  test('whatever names a table in its path is judged by it', () => {
    for (const {pattern, rights} of ROUTES)
      if (pattern.includes('{table}')) expect([pattern, rights.tables]).toEqual([pattern, 'path']);
  });
});
