/**
 * Bytes of requests that the router holds for a tenant: bodies that arrive, wait or may have to be sent again, and data
 * that its worker's socket has not taken. All tenants share ROUTER_RESERVED_BYTES_MAX.
 *
 * A quarter of it is reserved for small needs: every tenant can hold TENANT_SHARE_BYTES, regardless of the others. Of
 * the rest a tenant can hold TENANT_RESERVED_BYTES_MAX, but at most as much as is still free, so that a few tenants cannot
 * take all of it.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {TENANT_SHARE_BYTES} from '../limits.ts';
import type {RouterLimits} from '../router-limits.ts';

/** The part of the router's capacity that all tenants compete for; the rest is reserved for small needs. */
const SHARED_PART = 0.75;

export function tooManyBytes(): ServiceError {
  return new ServiceError('session.overloaded', 'requests under way are too long together; try again later');
}

/** The router's total; one object for all tenants. */
export class RouterBytes {
  reserved = 0;
  readonly max: number;
  readonly tenantMax: number;

  constructor({reservedBytes, tenantReservedBytes}: RouterLimits) {
    this.max = reservedBytes;
    this.tenantMax = tenantReservedBytes;
  }
}

export class ReservedBytes {
  readonly #router: RouterBytes;
  #reserved = 0;

  constructor(router: RouterBytes) {
    this.#router = router;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** Must be called before `take` if the bytes can still be refused. */
  hasRoom(bytes: number): boolean {
    const reservedThen = this.#reserved + bytes;
    if (reservedThen <= TENANT_SHARE_BYTES) return this.#router.reserved + bytes <= this.#router.max;
    return reservedThen <= Math.min(this.#router.tenantMax, SHARED_PART * this.#router.max - this.#router.reserved);
  }

  take(bytes: number): void {
    this.#reserved += bytes;
    this.#router.reserved += bytes;
  }

  give(bytes: number): void {
    this.take(-bytes);
    assert(this.#reserved >= 0 && this.#router.reserved >= 0, 'nothing is given back that was not taken');
  }
}

/** The bytes of one request's body. */
export class ReservedBody {
  /** Null: the request belongs to no tenant, and is not counted. */
  tenant: ReservedBytes | null = null;
  #bytes = 0;

  hasRoom(bytes: number): boolean {
    return this.tenant === null || this.tenant.hasRoom(bytes);
  }

  /** @returns false when the bytes exceed the capacity */
  hold(bytes: number): boolean {
    if (this.tenant === null) return true;
    if (!this.tenant.hasRoom(bytes)) return false;
    this.tenant.take(bytes);
    this.#bytes += bytes;
    return true;
  }

  /** Releases all of it; further calls do nothing. */
  giveBack(): void {
    if (this.#bytes > 0) this.tenant!.give(this.#bytes);
    this.#bytes = 0;
  }
}
