/**
 * Names in the log of a cluster. The log of a tenant is one subject, so that one compare-and-set orders all its records;
 * the parts of its large records are on a second subject of the same stream.
 */
import {createHash} from 'node:crypto';
import {assert} from '../../shared/assert.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {SHARDS} from '../limits.ts';
import type {StreamName, Subject} from './log-engine.ts';

/** A tenant of one generation: a deleted tenant and a later one with its id have different logs. */
export type TenantName = {readonly id: string; readonly generation: number};

const CLUSTER_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const RECORD_KEY = /^[A-Za-z0-9_=-]+(?:\.[A-Za-z0-9_=-]+)*$/;

export function isClusterName(name: string): boolean {
  return CLUSTER_NAME.test(name);
}

/** All hosts of a cluster compute the same. */
export function shardOf(tenantId: string): number {
  return createHash('sha256').update(tenantId).digest().readUInt32BE(0) % SHARDS;
}

export class Subjects {
  readonly cluster: string;

  constructor(cluster: string) {
    assert(isClusterName(cluster), 'the name of a cluster is checked where it is given');
    this.cluster = cluster;
  }

  /** Begins with all subjects of the stream. */
  prefix(stream: StreamName): string {
    const kind = stream.kind === 'log' ? `log.${stream.shard}` : stream.kind === 'records' ? 'record' : 'base';
    return `svc.${this.cluster}.${kind}.`;
  }

  log(tenant: TenantName): Subject {
    const stream: StreamName = {kind: 'log', shard: shardOf(tenant.id)};
    return {stream, name: this.prefix(stream) + tokenOf(tenant)};
  }

  parts(tenant: TenantName): Subject {
    const {stream, name} = this.log(tenant);
    return {stream, name: `${name}.part`};
  }

  record(key: string): Subject {
    assert(RECORD_KEY.test(key), `${key} can be a part of a subject`);
    return {stream: {kind: 'records'}, name: this.prefix({kind: 'records'}) + key};
  }

  /** Where a host receives requests of others. It is in no stream. @param name `>` for those of all hosts */
  host(name: string): string {
    return `svc.${this.cluster}.host.${name}`;
  }

  base(tenant: TenantName, id: string): Subject {
    assert(/^[0-9a-f]+$/.test(id), 'a base has a random id');
    return {stream: {kind: 'bases'}, name: `${this.prefix({kind: 'bases'})}${tokenOf(tenant)}.${id}`};
  }
}

/** Null: it is not the token of a tenant. */
export function tenantOfToken(token: string): TenantName | null {
  const at = token.lastIndexOf('_');
  const [id, generation] = [token.slice(0, Math.max(0, at)), token.slice(at + 1)];
  return TENANT_ID.test(id) && /^\d{1,15}$/.test(generation) ? {id, generation: Number(generation)} : null;
}

export function tokenOf({id, generation}: TenantName): string {
  assert(TENANT_ID.test(id), 'the id of a tenant is checked where it is given');
  assert(Number.isSafeInteger(generation) && generation >= 0, 'a generation is a count');
  return `${id}_${generation}`;
}
