/** Wire types of a cluster. GET /api/cluster, /api/cluster/members; POST /api/cluster/move, /pin, /drain */
import Type, {type Static} from 'typebox';
import {CLUSTER_PAGE_MAX} from '../limits.ts';
import {TENANT_ID} from '../tenant-id.ts';

/** The form of a host's name in its cluster. */
export const HOST_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});
const HostName = Type.String({pattern: HOST_NAME.source, description: 'the name of a host of the cluster'});
const TenantId = Type.String({pattern: TENANT_ID.source});
const closed = {additionalProperties: false};

const HOST_STATES = ['live', 'draining', 'expired', 'left'] as const;
const HostState = Type.Enum([...HOST_STATES], {
  description: '`draining`: it hands its tenants over; `expired`: others found it silent; `left`: it stopped in order',
});

const ClusterHost = Type.Object({
  host: Type.String(),
  state: HostState,
  address: orNull(Type.String(), 'where other hosts reach its routers; null: it has ended'),
  incarnation: Type.Integer({description: 'grows each time that it joins'}),
  silent_ms: Type.Number({description: 'since the answering host heard of it'}),
  tenants: Type.Integer({description: 'that it owns'}),
  capacity: orNull(Type.Number(), 'its share of the tenants, relative to other hosts; null: it has ended'),
  versions: orNull(
    Type.Object({
      svc: Type.String(),
      records: Type.Integer({description: 'newest format of log records that it reads'}),
      storage: Type.Integer({description: 'newest storage version that it reads'}),
    }),
    'null: it has ended',
  ),
});
export type ClusterHost = Static<typeof ClusterHost>;

const TENANT_STATES = ['owned', 'moving', 'lost', 'unowned'] as const;
const ClusterTenant = Type.Object({
  tenant: Type.String(),
  owner: orNull(Type.String(), 'the host that may open it; null: it was never opened'),
  epoch: Type.Integer({description: 'grows with each change of its owner, and each takeover'}),
  state: Type.Enum([...TENANT_STATES], {
    description:
      '`moving`: the owner before has not closed it yet; `lost`: its owner has ended, and the next request has another ' +
      'host take it; `unowned`: it was never opened',
  }),
  standbys: Type.Array(Type.String(), {
    description: 'hosts that should have a copy, in the order in which they follow',
  }),
  pin: orNull(Type.String(), 'the host that should own it; null: the placement decides'),
});
export type ClusterTenant = Static<typeof ClusterTenant>;

export const ClusterQuery = Type.Object({
  limit: Type.Optional(Type.Integer({minimum: 1, description: `default 100; above ${CLUSTER_PAGE_MAX} is that`})),
  cursor: Type.Optional(Type.String({description: 'next_cursor of the page before'})),
});

/** As the answering host knows it. */
export const ClusterStatus = Type.Object({
  cluster: Type.String({description: 'its name'}),
  host: Type.String({description: 'the one that answers'}),
  incarnation: orNull(Type.Integer(), 'of that host; null: it has not joined yet'),
  lease: Type.Boolean({description: 'it may serve; false: it is cut off from the log, or has not joined'}),
  state: Type.Enum(['joining', ...HOST_STATES]),
  hosts: Type.Array(ClusterHost, {description: 'in order of name'}),
  tenants: Type.Array(ClusterTenant, {description: 'in order of id'}),
  next_cursor: orNull(Type.String(), 'null: this is the last page'),
});
export type ClusterStatus = Static<typeof ClusterStatus>;

export const ClusterMembers = Type.Object({hosts: Type.Array(ClusterHost, {description: 'in order of name'})});
export type ClusterMembers = Static<typeof ClusterMembers>;

export const MoveBody = Type.Object({tenant: TenantId, host: HostName}, closed);
export const PinBody = Type.Object({tenant: TenantId, host: orNull(HostName, 'null: the pin is removed')}, closed);
export const DrainBody = Type.Object({host: HostName}, closed);

/** POST /api/cluster/move, /pin */
export const MovedTenant = Type.Object({tenant: ClusterTenant});
export type MovedTenant = Static<typeof MovedTenant>;

/** POST /api/cluster/drain */
export const DrainedHost = Type.Object({host: ClusterHost});
export type DrainedHost = Static<typeof DrainedHost>;
