/** What the router answers itself: the server, tenants, keys, the dashboard. */
import type {App} from '../../functions/app.ts';
import {Dashboard} from '../../harness/dashboard.ts';
import {ANONYMOUS, samples} from './sample.ts';

/** @param app one that is `filled` */
export function serverSamples(app: App) {
  const {service} = app;
  const noKey = {params: {key_id: 'none'}, code: 'op.not_found'} as const;
  const copied = async () => {
    await service.post('/api/backup/run');
    return {params: {tenant_id: app.tenant}};
  };
  let keys = 0;
  const newKey = async () => {
    const body = {name: `k${++keys}`, scopes: ['logs']};
    const {key}: {key: {id: string}} = (await service.post('/api/keys', body)).body;
    return {params: {key_id: key.id}};
  };
  return samples({
    health: {succeeds: [{headers: ANONYMOUS}], refused: {method: 'POST', code: 'op.method_not_allowed'}},
    metrics: {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    openapi: {
      succeeds: [{headers: ANONYMOUS}, {headers: {...ANONYMOUS, 'if-none-match': '*'}, variant: 'not_modified'}],
      refused: {method: 'POST', code: 'op.method_not_allowed'},
    },
    'docs.page': {
      succeeds: [{headers: ANONYMOUS}, {headers: {...ANONYMOUS, 'if-none-match': '*'}, variant: 'not_modified'}],
      refused: {headers: {origin: 'https://elsewhere.example'}, code: 'auth.origin_forbidden'},
    },
    'docs.file': {
      succeeds: [
        {params: {file: 'page.js'}, headers: ANONYMOUS},
        {params: {file: 'swagger-ui.css'}, headers: {...ANONYMOUS, 'if-none-match': '*'}, variant: 'not_modified'},
      ],
      refused: {params: {file: 'none.js'}, code: 'op.not_found'},
    },
    socket: {
      succeeds: [
        {query: `tenant_id=${app.tenant}`, headers: {upgrade: 'websocket', 'sec-websocket-protocol': 'svc.v2'}},
      ],
      refused: {code: 'op.invalid_input'},
    },
    'functions.socket': {
      succeeds: [
        {
          params: {tenant_id: app.tenant},
          headers: {upgrade: 'websocket', 'sec-websocket-protocol': 'svc.functions.v1'},
        },
      ],
      refused: {params: {tenant_id: app.tenant}, code: 'op.invalid_input'},
    },
    'tenants.create': {
      succeeds: [{body: {id: 'made'}}],
      refused: {body: {id: app.tenant}, code: 'session.tenant_exists'},
    },
    'tenants.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'tenants.delete': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.overview': {
      succeeds: [{}, {query: `search=${app.tenant.toUpperCase()}&state=awake&order=requests&limit=1`}],
      refused: {query: 'order=size', code: 'op.invalid_input'},
    },
    'tenants.status': {
      succeeds: [{params: {tenant_id: app.tenant}}],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'server.status': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'backup.status': {succeeds: [{query: 'limit=1'}], refused: {query: 'limit=0', code: 'op.invalid_input'}},
    'backup.run': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'backup.drill': {succeeds: [{query: 'tenants=1'}], refused: {query: 'tenants=0', code: 'op.invalid_input'}},
    'tenants.restore': {
      succeeds: [async () => ({...(await copied()), query: `as=restored${++keys}&live=true`})],
      refused: {params: {tenant_id: app.tenant}, code: 'session.tenant_exists'},
    },
    'backup.points': {
      succeeds: [copied, async () => ({...(await copied()), query: 'before=1'})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    // Of a host of a cluster alone: ONLY_IN_CLUSTER in operations.test.ts.
    'cluster.status': {succeeds: [{query: 'limit=1'}], refused: {query: 'limit=0', code: 'op.invalid_input'}},
    'cluster.members': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'cluster.move': {
      succeeds: [{body: {tenant: app.tenant, host: 'b'}}],
      refused: {body: {tenant: app.tenant, host: 'B'}, code: 'op.invalid_input'},
    },
    'cluster.pin': {
      succeeds: [{body: {tenant: app.tenant, host: 'b'}}, {body: {tenant: app.tenant, host: null}}],
      refused: {body: {tenant: app.tenant}, code: 'op.invalid_input'},
    },
    'cluster.drain': {
      succeeds: [{body: {host: 'b'}}],
      refused: {body: {host: 'b', tenant: app.tenant}, code: 'op.invalid_input'},
    },
    'upgrade.status': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'upgrade.start': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'figures.server': {
      succeeds: [{}, {query: 'from=0&to=60000'}],
      refused: {query: 'step=7', code: 'op.invalid_input'},
    },
    'figures.tenant': {
      succeeds: [{params: {tenant_id: app.tenant}, query: 'step=300'}],
      refused: {params: {tenant_id: app.tenant}, query: 'from=2&to=1', code: 'op.invalid_input'},
    },
    'figures.functions': {
      succeeds: [{params: {tenant_id: app.tenant}}, {params: {tenant_id: app.tenant}, query: 'function=m:all'}],
      refused: {params: {tenant_id: app.tenant}, query: 'from=0', code: 'op.invalid_input'},
    },
    'tenants.wake': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.sleep': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.pause': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.clone': {
      succeeds: [{params: {tenant_id: app.tenant}, query: 'as=cloned'}],
      refused: {params: {tenant_id: app.tenant}, query: 'as=no/id', code: 'op.invalid_input'},
    },
    'tenants.import': {
      succeeds: [
        async () => ({
          params: {tenant_id: 'imported'},
          query: 'live=true',
          body: await fileOf(app),
        }),
      ],
      refused: {params: {tenant_id: 'none'}, body: 'no file', code: 'op.invalid_input'},
    },
    'tenants.resume': {
      succeeds: [{params: {tenant_id: app.tenant}}],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'audit.page': {
      succeeds: [{}, {query: 'after=1&limit=2'}],
      refused: {query: 'after=none', code: 'op.invalid_input'},
    },
    'audit.refusals': {
      succeeds: [{query: 'limit=2'}],
      refused: {query: 'limit=0', code: 'op.invalid_input'},
    },
    whoami: {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'keys.create': {
      succeeds: [
        {
          body: {
            ...{name: 'app', scopes: ['data:read'], tenants: ['acme'], tables: ['cities'], expires_in_seconds: 60},
            rate_limit: {requests_per_second: 10, burst: 20},
          },
        },
        {body: {name: 'taken', scopes: ['data:read', 'metrics'], tenants: null, tables: null}},
      ],
      refused: {body: {name: 'taken', scopes: ['logs']}, code: 'op.conflict'},
    },
    'keys.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'keys.get': {succeeds: [newKey], refused: noKey},
    'keys.rotate': {
      succeeds: [async () => ({...(await newKey()), body: {overlap_seconds: 60}})],
      refused: {...noKey, body: {overlap_seconds: 0}},
    },
    'keys.revoke': {succeeds: [newKey], refused: noKey},
    'dashboard.code': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'dashboard.sessions': {
      succeeds: [
        async () => {
          await Dashboard.signedIn(service);
          return {};
        },
      ],
      refused: {headers: ANONYMOUS, code: 'auth.unauthorized'},
    },
    'dashboard.end': {
      succeeds: [
        async () => {
          const {body} = await (await Dashboard.signedIn(service)).get('/_dashboard/session');
          return {params: {session_id: (body as {id: string}).id}};
        },
      ],
      refused: {params: {session_id: 'none'}, code: 'op.not_found'},
    },
    'dashboard.end_all': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
  });
}

/** What an export of the tenant is. */
async function fileOf({service, tenant}: App): Promise<Buffer> {
  const headers = {authorization: `Bearer ${service.accessToken}`};
  const reply = await fetch(`${service.url}/api/tenants/${tenant}/file`, {headers});
  return Buffer.from(await reply.arrayBuffer());
}
