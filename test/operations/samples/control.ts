/** Services, sandboxes and sessions. */
import {NODE_VERSION} from '../../control/service-client.ts';
import type {App} from '../../functions/app.ts';
import {ANONYMOUS, samples} from './sample.ts';

/** @param app one that is `filled` */
export function controlSamples(app: App) {
  const {service} = app;
  const newSandbox = async () => {
    const {sandbox} = (await app.admin('POST', '/sandboxes', {})).body as {sandbox: {id: string}};
    return {params: {sandbox_id: sandbox.id}};
  };
  const noSandbox = {params: {sandbox_id: 'none'}, code: 'op.not_found'} as const;
  const inline = {type: 'inline', code: 'export default async () => {};'};
  const atRest = {source: inline, node_version: '22', autostart: false};
  let services = 0;
  const newService = async () => {
    const {service: made}: {service: {name: string}} = (
      await app.admin('POST', '/services', {name: `s${++services}`, ...atRest})
    ).body;
    return {params: {service_name: made.name}};
  };
  const noService = {params: {service_name: 'none'}, code: 'op.not_found'} as const;
  const newSession = async () => {
    const {session}: {session: {id: string}} = (await service.post('/api/sessions', {tenant: app.tenant})).body;
    return {params: {session_id: session.id}};
  };
  const noSession = {params: {session_id: 'none'}, code: 'op.not_found'} as const;
  return samples({
    'services.create': {
      succeeds: [
        {body: {name: 'made', ...atRest}},
        {body: {name: 'full', ...atRest, env: {A: 'b'}, memory_mb: 32, restart: 'on_failure'}},
      ],
      refused: {body: {name: 'no module', source: inline}, code: 'op.invalid_input'},
    },
    'services.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'services.get': {succeeds: [newService], refused: noService},
    'services.update': {
      succeeds: [async () => ({...(await newService()), body: {...atRest, restart: 'never'}})],
      refused: {...noService, body: atRest},
    },
    'services.delete': {succeeds: [newService], refused: noService},
    'services.start': {succeeds: [newService], refused: noService},
    'services.stop': {succeeds: [newService], refused: noService},
    'services.restart': {succeeds: [newService], refused: noService},
    'services.logs': {
      succeeds: [
        async () => {
          const made = await newService();
          await app.admin('POST', `/services/${made.params.service_name}/start`);
          await app.admin('POST', `/services/${made.params.service_name}/stop`);
          return {...made, query: 'history=10&follow=false'};
        },
      ],
      refused: async () => ({...(await newService()), query: 'history=-1', code: 'op.invalid_input'}),
    },

    'sandboxes.create': {
      succeeds: [
        {body: {}},
        {body: {memory_mb: 8, env: {A: 'b'}, network: true}},
        {body: {runtime: 'node', node_version: NODE_VERSION}},
      ],
      refused: {body: {runtime: 'bun'}, code: 'op.invalid_input'},
    },
    'sandboxes.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'sandboxes.get': {succeeds: [newSandbox], refused: noSandbox},
    'sandboxes.stop': {succeeds: [newSandbox], refused: noSandbox},
    'sandboxes.execute': {
      succeeds: [
        async () => ({...(await newSandbox()), body: {code: 'console.log(1); return args', args: {a: 1}}}),
        async () => ({...(await newSandbox()), body: {code: 'return null', timeout_ms: 1_000}}),
      ],
      refused: async () => ({
        ...(await newSandbox()),
        body: {code: 'throw new Error("no")'},
        code: 'sandbox.execution_failed',
      }),
    },
    'sessions.create': {
      succeeds: [{body: {tenant: app.tenant}}, {body: {tenant: app.tenant, ttl_ms: 5_000, metadata: {a: [1]}}}],
      refused: {body: {tenant: 'none'}, code: 'session.tenant_not_found'},
    },
    'sessions.list': {
      succeeds: [{query: `tenant=${app.tenant}`}],
      refused: {query: 'tenant=none', code: 'session.tenant_not_found'},
    },
    'sessions.get': {succeeds: [newSession], refused: noSession},
    'sessions.close': {succeeds: [newSession], refused: noSession},
    'sessions.execute': {
      succeeds: [async () => ({...(await newSession()), body: {code: 'return 1'}})],
      refused: {...noSession, body: {code: '1'}},
    },
  });
}
