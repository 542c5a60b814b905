/** The small record `tenant.<id>`: JSON, checked when it is read. */
import Type, {type Static} from 'typebox';
import {decodeStored} from '../log/stored-json.ts';
import {isHostName} from '../members/member-record.ts';
import type {PlacedTenant} from '../placement/placement.ts';

const TENANT_FORMAT = 1;
export const TENANT_PREFIX = 'tenant.';

const Count = Type.Integer({minimum: 0, maximum: Number.MAX_SAFE_INTEGER});
const HostName = Type.Refine(Type.String({maxLength: 32}), isHostName);

const StoredTenant = Type.Object(
  {
    format: Type.Literal(TENANT_FORMAT),
    generation: Count,
    epoch: Count,
    owner: Type.Union([
      Type.Null(),
      Type.Object({host: HostName, incarnation: Type.Integer({minimum: 1})}, {additionalProperties: false}),
    ]),
    pin: Type.Union([Type.Null(), HostName]),
    createdMs: Count,
    dueMs: Type.Union([Type.Null(), Count]),
    isDeleted: Type.Boolean(),
    paused: Type.Optional(Type.Union([Type.Literal('reads'), Type.Literal('nothing')])),
    storage: Type.Optional(Count),
  },
  {additionalProperties: false},
);

/**
 * - `owner` may open the tenant's log in `epoch`, which grows with each claim. It need not have done so: only the log says
 *   who serves. Null: the tenant was never opened. The epoch goes on when the tenant is deleted and made again.
 * - `pin`: the host that should own it; null: the placement says.
 * - `dueMs`: when it has work without a request, epoch milliseconds. 0: it was opened, and has not been closed since.
 *   Null: never.
 * - `paused`: what it serves meanwhile. Absent: it is not paused. With each change the epoch grows, so that its owner opens it
 *   again. A release without it cannot read such an entry.
 * - `storage`: only a svc that knows this storage version can open the file; none: each one can, or nothing has opened it.
 * - `isDeleted`: an operator deleted the tenant of this generation. Without an entry, nothing is known of a tenant.
 */
export type TenantRecord = Omit<Static<typeof StoredTenant>, 'format'>;
/** One membership of a host. */
export type Owner = NonNullable<TenantRecord['owner']>;

/** A stored record and its revision. */
export type FoundTenant = {readonly record: TenantRecord; readonly revision: number};

/** The entry of a tenant that was never opened. */
export function newTenant(generation: number, createdMs: number): TenantRecord {
  return {generation, epoch: 0, owner: null, pin: null, createdMs, dueMs: null, isDeleted: false};
}

/** For the placement. */
export function placedTenant(id: string, {pin, storage = 0}: Pick<TenantRecord, 'pin' | 'storage'>): PlacedTenant {
  return {id, pin, storage};
}

export function tenantKey(id: string): string {
  return TENANT_PREFIX + id;
}

export function encodeTenant(record: TenantRecord): Buffer {
  return Buffer.from(JSON.stringify({format: TENANT_FORMAT, ...record}));
}

/** @throws LogError */
export function decodeTenant(id: string, bytes: Buffer): TenantRecord {
  const {format: _, ...record} = decodeStored(StoredTenant, bytes, `the entry of the tenant ${id}`);
  return record;
}

export function isSameOwner(one: Owner | null, other: Owner | null): boolean {
  return one?.host === other?.host && one?.incarnation === other?.incarnation;
}

/** The note of an `open` or `close` in the log: who wrote it. */
export function noteOfOwner({host, incarnation}: Owner): string {
  return `${host}.${incarnation}`;
}

/** Null: another release wrote it, or it is damaged. */
export function ownerOfNote(note: string): Owner | null {
  const [host = '', incarnation = '', ...rest] = note.split('.');
  const isNote = isHostName(host) && /^[1-9]\d{0,14}$/.test(incarnation) && rest.length === 0;
  return isNote ? {host, incarnation: Number(incarnation)} : null;
}
