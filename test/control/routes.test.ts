/**
 * Every row of the contract's table of service control, by its method and path, with what the contract says of it; and the routes that are
 * ours beside them. What each does in all cases has files of its own beside this one.
 */
import {beforeAll, describe, expect, test} from 'vitest';
import {OPERATIONS, type Operation, traitsOf} from '../../shared/operations.ts';
import type {Reply} from '../harness/service.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {NODE_VERSION} from './service-client.ts';

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});

const CODE = 'export default (ctx, signal) => new Promise(done => signal.addEventListener("abort", done));';
const definition = (name: string) => ({
  name,
  source: {type: 'inline', code: CODE},
  node_version: NODE_VERSION,
  autostart: false,
});

type Made = {service?: {name: string}; sandbox?: {id: string}; session?: {id: string}};
let names = 0;
const newService = async () => ((await ask('POST', '/services', definition(`s${++names}`))).body as Made).service!.name;
const newSandbox = async () => ((await ask('POST', '/sandboxes', {})).body as Made).sandbox!.id;
const newSession = async () => ((await service.post('/api/sessions', {tenant: tenant.id})).body as Made).session!.id;
const ask = (method: string, path: string, body?: unknown): Promise<Reply> => tenant.request(method, path, body);

type Row = [string, string, string, () => Promise<Reply>, number, object | null];
const SERVICE = '/api/tenants/{tenant_id}/services';
const SANDBOX = '/api/tenants/{tenant_id}/sandboxes';
const CONTRACT: Row[] = [
  ['GET', SERVICE, 'List service definitions', () => ask('GET', '/services'), 200, {services: expect.any(Array)}],
  [
    'POST',
    SERVICE,
    'Create a service definition',
    () => ask('POST', '/services', definition('made')),
    201,
    {service: expect.objectContaining({name: 'made', state: 'stopped'})},
  ],
  [
    'GET',
    `${SERVICE}/{service_name}`,
    'Read a service',
    async () => ask('GET', `/services/${await newService()}`),
    200,
    {service: expect.objectContaining({state: 'stopped'})},
  ],
  [
    'PUT',
    `${SERVICE}/{service_name}`,
    'Update a service',
    async () =>
      ask('PUT', `/services/${await newService()}`, {
        source: {type: 'inline', code: CODE},
        env: {A: 'b'},
        node_version: NODE_VERSION,
      }),
    200,
    {service: expect.objectContaining({env: {A: 'b'}})},
  ],
  [
    'DELETE',
    `${SERVICE}/{service_name}`,
    'Delete a service',
    async () => ask('DELETE', `/services/${await newService()}`),
    204,
    null,
  ],
  [
    'POST',
    `${SERVICE}/{service_name}/start`,
    'Start a service',
    async () => ask('POST', `/services/${await newService()}/start`),
    200,
    {service: expect.objectContaining({desired_state: 'running'})},
  ],
  [
    'POST',
    `${SERVICE}/{service_name}/stop`,
    'Stop a service',
    async () => ask('POST', `/services/${await newService()}/stop`),
    200,
    {service: expect.objectContaining({state: 'stopped', desired_state: 'stopped'})},
  ],
  ['GET', SANDBOX, 'List sandboxes', () => ask('GET', '/sandboxes'), 200, {sandboxes: expect.any(Array)}],
  [
    'POST',
    SANDBOX,
    'Create a sandbox',
    () => ask('POST', '/sandboxes', {memory_mb: 8}),
    201,
    {sandbox: expect.objectContaining({memory_mb: 8, state: 'running'})},
  ],
  [
    'GET',
    `${SANDBOX}/{sandbox_id}`,
    'Read a sandbox',
    async () => ask('GET', `/sandboxes/${await newSandbox()}`),
    200,
    {sandbox: expect.objectContaining({state: 'running'})},
  ],
  [
    'POST',
    `${SANDBOX}/{sandbox_id}/stop`,
    'Stop a sandbox',
    async () => ask('POST', `/sandboxes/${await newSandbox()}/stop`),
    200,
    {sandbox: expect.objectContaining({state: 'stopped'})},
  ],
  [
    'GET',
    '/api/sessions',
    'List sessions (tenant passed in query)',
    () => service.get(`/api/sessions?tenant=${tenant.id}`),
    200,
    {sessions: expect.any(Array)},
  ],
  [
    'POST',
    '/api/sessions',
    'Open a session (tenant passed in body)',
    () => service.post('/api/sessions', {tenant: tenant.id}),
    201,
    {session: expect.objectContaining({state: 'open'})},
  ],
  [
    'GET',
    '/api/sessions/{session_id}',
    'Read a session',
    async () => service.get(`/api/sessions/${await newSession()}`),
    200,
    {session: expect.objectContaining({state: 'open'})},
  ],
  [
    'POST',
    '/api/sessions/{session_id}/close',
    'Close a session',
    async () => service.post(`/api/sessions/${await newSession()}/close`),
    200,
    {session: expect.objectContaining({state: 'closed'})},
  ],
];
const OURS: Row[] = [
  [
    'POST',
    `${SERVICE}/{service_name}/restart`,
    'Start a service anew',
    async () => ask('POST', `/services/${await newService()}/restart`),
    200,
    {service: expect.objectContaining({desired_state: 'running'})},
  ],
  [
    'GET',
    `${SERVICE}/{service_name}/logs`,
    'Read the log of a service',
    async () => ask('GET', `/services/${await newService()}/logs`),
    200,
    null,
  ],
  [
    'POST',
    `${SANDBOX}/{sandbox_id}/execute`,
    'Execute code in a sandbox',
    async () => ask('POST', `/sandboxes/${await newSandbox()}/execute`, {code: 'return 1'}),
    200,
    {value: 1, log_lines: [], duration_ms: expect.any(Number)},
  ],
  [
    'POST',
    '/api/sessions/{session_id}/execute',
    'Execute code in the sandbox of a session',
    async () => service.post(`/api/sessions/${await newSession()}/execute`, {code: 'return 1'}),
    200,
    {value: 1, log_lines: [], duration_ms: expect.any(Number)},
  ],
];

describe('service control, as the contract has it', () => {
  test.each(CONTRACT)('%s %s: %s', async (_method, _path, _purpose, request, status, body) => {
    const reply = await request();
    expect([reply.status, reply.text]).toEqual([status, expect.any(String)]);
    if (body !== null) expect(reply.body).toEqual(body);
  });
});

describe('service control, ours beside it', () => {
  test.each(OURS)('%s %s: %s', async (_method, _path, _purpose, request, status, body) => {
    const reply = await request();
    expect([reply.status, reply.text]).toEqual([status, expect.any(String)]);
    if (body !== null) expect(reply.body).toEqual(body);
  });
});

test('there are no other routes of service control than these', () => {
  const prefixes = {tenant: '/api/tenants/{tenant_id}', session: '/api/sessions', deployment: '/svc/{tenant_id}'};
  const served = (Object.keys(OPERATIONS) as Operation[])
    .filter(name => /^(services|sandboxes|sessions)\./.test(name))
    .flatMap(name => traitsOf(name).routes.map(({method, path}) => `${method} ${prefixes[traitsOf(name).of]}${path}`));
  const shown = [...CONTRACT, ...OURS].map(([method, path]) => `${method} ${path}`);
  expect(served.sort()).toEqual(shown.sort());
});
