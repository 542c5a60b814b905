/**
 * Reads everything that NATS has of a tenant: its bases, each record after the oldest one, and its external packages, with
 * their digests. It changes nothing, and needs no host.
 */
import {CHECK_ATTEMPTS} from '../limits.ts';
import type {BaseInfo} from '../log/base-list.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {TenantName} from '../log/subjects.ts';
import {findTenant} from './claim.ts';
import type {TenantRecord} from './tenant-record.ts';

export type CheckedLog = {
  readonly owner: TenantRecord['owner'];
  /** Of the entry: the log was opened in this epoch, or in an earlier one. */
  readonly epoch: number;
  readonly bases: number;
  readonly records: number;
  /** Of bases, bodies and packages. */
  readonly bytes: number;
  /** One sentence each; none: the tenant can be opened from the log alone. */
  readonly findings: readonly string[];
};

type Count = {records: number; bytes: number};

/** Null: there is no such tenant. @throws EngineError */
export async function checkLog(replicated: ReplicatedLog, id: string): Promise<CheckedLog | null> {
  for (let attempt = 1; ; attempt++) {
    const count = {records: 0, bytes: 0};
    try {
      return await checked(replicated, id, count);
    } catch (caught) {
      if (!(caught instanceof LogError)) throw caught;
      // What is in use can be trimmed while it is read.
      if (attempt < CHECK_ATTEMPTS) continue;
      const entry = await findTenant(replicated.records, id).catch(() => null);
      const {owner = null, epoch = 0} = entry?.record ?? {};
      return {owner, epoch, bases: 0, ...count, findings: [caught.message]};
    }
  }
}

/** @throws LogError, EngineError */
async function checked(replicated: ReplicatedLog, id: string, count: Count): Promise<CheckedLog | null> {
  const found = await findTenant(replicated.records, id);
  if (found === null) return null;
  const {generation, owner, epoch} = found.record;
  const tenant = {id, generation};
  const bases = await replicated.bases.list(tenant);
  for (const base of bases) for await (const part of replicated.bases.read(tenant, base)) count.bytes += part.length;

  const findings: string[] = [];
  const later = new Map(bases.slice(1).map(base => [base.position.sequence, base]));
  let tail: LogPosition | null = bases[0]?.position ?? null;
  for await (const {position, body} of replicated.tenant(tenant).read(tail)) {
    count.records++;
    for await (const part of body()) count.bytes += part.length;
    const base = later.get(position.sequence);
    later.delete(position.sequence);
    if (base !== undefined && !isAt(base, position)) findings.push(`the base ${base.id} is of another history`);
    tail = position;
  }
  for (const base of later.values())
    findings.push(`the log lacks the record ${base.position.n} of the base ${base.id}`);
  if (tail !== null && tail.epoch > epoch) {
    findings.push(`the log was opened in epoch ${tail.epoch}, and the entry of the tenant has ${epoch}`);
  }
  findings.push(...(await damagedPackages(replicated, tenant, count)));
  return {owner, epoch, bases: bases.length, ...count, findings};
}

/** @throws LogError: the list is damaged; EngineError */
async function damagedPackages({packages}: ReplicatedLog, tenant: TenantName, count: Count): Promise<string[]> {
  const found: string[] = [];
  for (const info of await packages.list(tenant)) {
    try {
      for await (const part of packages.read(tenant, info)) count.bytes += part.length;
    } catch (caught) {
      if (!(caught instanceof LogError)) throw caught;
      // A deploy can have replaced or removed it meanwhile.
      const isThere = (await packages.list(tenant)).some(({id}) => id === info.id);
      if (isThere) found.push(caught.message);
    }
  }
  return found;
}

function isAt({position}: BaseInfo, {n, epoch, digest}: LogPosition): boolean {
  return position.n === n && position.epoch === epoch && position.digest.equals(digest);
}
