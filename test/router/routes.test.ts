import {describe, expect, test} from 'vitest';
import {decodeParameter, findPath, isDeploymentPath, ROUTES} from '../../router/routes.ts';

describe('a path finds its entry of the route table, with its parameters as they stand', () => {
  test.each([
    ['/health', '/health', []],
    ['/api/tenants', '/api/tenants', []],
    ['/api/tenants/acme', '/api/tenants/{tenant_id}', ['acme']],
    ['/api/tenants/acme/documents', '/api/tenants/{tenant_id}/documents', ['acme']],
    ['/api/tenants/acme/documents/a%20b', '/api/tenants/{tenant_id}/documents/{table}', ['acme', 'a%20b']],
    ['/api/tenants/acme/documents/t/1', '/api/tenants/{tenant_id}/documents/{table}/{document_id}', ['acme', 't', '1']],
    ['/api/tenants/query/query', '/api/tenants/{tenant_id}/query', ['query']],
    ['/api/tenants/acme/query/paginated', '/api/tenants/{tenant_id}/query/paginated', ['acme']],
    ['/api/tenants/acme/journal/bootstrap', '/api/tenants/{tenant_id}/journal/bootstrap', ['acme']],
    ['/api/tenants/acme/sandboxes/x/stop', '/api/tenants/{tenant_id}/sandboxes/{sandbox_id}/stop', ['acme', 'x']],
    ['/api/sessions', '/api/sessions', []],
    ['/api/sessions/acme.0/execute', '/api/sessions/{session_id}/execute', ['acme.0']],
    ['/svc/acme/schedule/run_at', '/svc/{tenant_id}/schedule/run_at', ['acme']],
    ['/svc/acme/schedule/run_it', '/svc/{tenant_id}/schedule/{job_id}', ['acme', 'run_it']],
    ['/svc/acme/http', '/svc/{tenant_id}/http', ['acme']],
    ['/svc/acme/http/', '/svc/{tenant_id}/http/{*path}', ['acme', '/']],
    ['/svc/acme/http//a%2F/../b/', '/svc/{tenant_id}/http/{*path}', ['acme', '//a%2F/../b/']],
  ])('%s → %s', (path, pattern, expected) => {
    const parameters: string[] = [];
    const entry = findPath(path, parameters);
    expect([...(entry?.methods.values() ?? [])].map(route => route.pattern)).toContain(pattern);
    expect(parameters).toEqual(expected);
  });
});

describe('anything else is an unknown route', () => {
  test.each([
    '/',
    '',
    '//health',
    '/health/',
    '/Health',
    '/api',
    '/api/tenants/',
    '/api/tenants//documents',
    '/api/tenants/acme/',
    '/api/tenants/acme/documents/',
    '/api/tenants/acme/documents/t/1/',
    '/api/tenants/acme/documents/t/1/more',
    '/api/tenants/acme/journal/other',
    '/api/sessions/',
    '/api/sessions/x/open',
    '/svc',
    '/svc/acme',
    '/svc//http/x',
    '/svc/acme/query/',
    '/constructor',
    '/__proto__',
  ])('%j', path => {
    expect(findPath(path, [])).toBeNull();
  });
});

test('an entry names the methods it takes, for Allow', () => {
  expect(findPath('/api/tenants/a/documents/t/1', [])?.allow).toBe('GET, HEAD, PUT, PATCH, DELETE');
});

test('only deployments are exempt from the rules about origins, and nothing else is for their users', () => {
  for (const {pattern, access} of ROUTES) {
    expect([pattern, access === 'deployment']).toEqual([pattern, isDeploymentPath(pattern)]);
  }
});

test('only reads of a worker may be sent twice', () => {
  const writes = ROUTES.filter(route => 'operation' in route.answer && !route.isRead).map(route => route.method);
  expect([...new Set(writes)].sort()).toEqual(['*', 'DELETE', 'PATCH', 'POST', 'PUT']);
});

describe('parameters are percent-decoded once', () => {
  test.each([
    ['plain', 'plain'],
    ['a%20b', 'a b'],
    ['%2e%2E%2f', '../'],
    ['%2525', '%25'],
    ['%00', '\0'],
    ['%C3%BC', 'ü'],
  ])('%s → %j', (segment, decoded) => {
    expect(decodeParameter(segment)).toBe(decoded);
  });

  test.each(['%', '%zz', '%ff', '%C3'])('%s is 400 op.invalid_input', segment => {
    expect(() => decodeParameter(segment)).toThrowError(expect.objectContaining({code: 'op.invalid_input'}));
  });
});
