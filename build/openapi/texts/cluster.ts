/** Texts of a cluster. */
import type {Named, OperationTexts} from './text.ts';

const a = {
  host: 'a',
  state: 'live',
  address: '10.0.0.1:4201',
  incarnation: 3,
  silent_ms: 412,
  tenants: 12,
  capacity: 1,
  versions: {svc: '0.1.0', records: 1, storage: 17},
};
const b = {...a, host: 'b', address: '10.0.0.2:4201', incarnation: 1, silent_ms: 87, tenants: 14};
const acme = {tenant: 'acme', owner: 'a', epoch: 7, state: 'owned', standbys: ['b'], pin: null};
const errors = ['op.conflict', 'op.not_found', 'session.worker_unavailable'] as const;

export const CLUSTER_TEXTS: OperationTexts<Named<'cluster'>> = {
  'cluster.status': {
    summary: 'Hosts of the cluster, and who owns which tenant',
    description: 'As the answering host knows it. 409 from a server that is no host of a cluster, as for all of these.',
    errors: ['op.conflict'],
    example: {
      query: {limit: 10},
      answer: {
        cluster: 'prod',
        host: 'a',
        incarnation: 3,
        lease: true,
        state: 'live',
        hosts: [a, b],
        tenants: [acme],
        next_cursor: null,
      },
    },
  },
  'cluster.members': {
    summary: 'Hosts of the cluster',
    errors: ['op.conflict'],
    example: {answer: {hosts: [a, b]}},
  },
  'cluster.move': {
    summary: 'Hand a tenant to another host',
    description:
      'Answers once the other host may open the tenant. Requests for it wait for a moment, and none is refused. Later ' +
      'moves by the placement are not prevented: `POST /api/cluster/pin` does that.',
    errors,
    example: {
      body: {tenant: 'acme', host: 'b'},
      answer: {tenant: {...acme, owner: 'b', epoch: 8, state: 'moving', standbys: ['a']}},
    },
  },
  'cluster.pin': {
    summary: 'Pin a tenant to a host',
    description:
      'The host owns the tenant for as long as it is alive, whatever the placement says. With `host` null the pin is removed.',
    errors,
    example: {body: {tenant: 'acme', host: 'b'}, answer: {tenant: {...acme, pin: 'b', state: 'moving'}}},
  },
  'cluster.drain': {
    summary: 'Hand all tenants of a host to others',
    description:
      'Before the host is stopped. It reads the request within seconds, is `draining` then, and takes no tenant until it ' +
      'is started again. `GET /api/cluster` shows how many are left.',
    errors,
    example: {body: {host: 'b'}, answer: {host: b}},
  },
};
