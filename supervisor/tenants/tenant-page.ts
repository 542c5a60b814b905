/** A page of tenants: those that match, in an order, after a cursor. One pass keeps no more than the page. */
import {ServiceError} from '../../shared/errors.ts';
import type {OverviewRequest} from '../../shared/ipc/overview.ts';
import {type OverviewOrder, TENANT_STATES, type TenantState} from '../../shared/protocol/tenant-status.ts';

/** What a page can be ordered and filtered by. */
export type PagedTenant<T> = {of: T; id: string; state: TenantState; value: number};
/** Where a page ends: the values of its last tenant. */
type Position = {value: number; id: string};

export type Page<T> = {
  tenants: T[];
  next_cursor: string | null;
  has_more: boolean;
  total: number;
  states: Record<TenantState, number>;
};

/**
 * @param tenants `value`: by which the page is ordered, highest first; 0 for the order by id
 * @throws op.invalid_input 400: not a cursor of this order
 */
export function tenantPage<T>(tenants: Iterable<PagedTenant<T>>, request: OverviewRequest): Page<T> {
  const {limit, order, state} = request;
  const search = request.search.toLowerCase();
  const after = request.cursor === null ? null : positionIn(request.cursor, order);
  const states = Object.fromEntries(TENANT_STATES.map(each => [each, 0])) as Record<TenantState, number>;
  /** In order; one more than the page, which says whether there are more. */
  const best: PagedTenant<T>[] = [];
  let total = 0;
  for (const tenant of tenants) {
    if (search !== '' && !tenant.id.toLowerCase().includes(search)) continue;
    states[tenant.state]++;
    if (state !== null && tenant.state !== state) continue;
    total++;
    if (after === null || isBefore(after, tenant)) insert(best, tenant, limit + 1);
  }
  const page = best.slice(0, limit);
  const hasMore = best.length > limit;
  return {
    tenants: page.map(tenant => tenant.of),
    next_cursor: hasMore ? cursorOf(page.at(-1)!, order) : null,
    has_more: hasMore,
    total,
    states,
  };
}

function isBefore(one: Position, other: Position): boolean {
  return one.value > other.value || (one.value === other.value && one.id < other.id);
}

function insert<T>(best: PagedTenant<T>[], tenant: PagedTenant<T>, max: number): void {
  if (best.length === max && !isBefore(tenant, best[max - 1]!)) return;
  let low = 0;
  let high = best.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(best[middle]!, tenant)) low = middle + 1;
    else high = middle;
  }
  best.splice(low, 0, tenant);
  if (best.length > max) best.pop();
}

function cursorOf({value, id}: Position, order: OverviewOrder): string {
  return Buffer.from(JSON.stringify([order, value, id])).toString('base64url');
}

function positionIn(cursor: string, order: OverviewOrder): Position {
  try {
    const [itsOrder, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (itsOrder === order && typeof value === 'number' && typeof id === 'string') return {value, id};
  } catch (caught) {
    if (!(caught instanceof SyntaxError) && !(caught instanceof TypeError)) throw caught;
  }
  throw new ServiceError('op.invalid_input', 'the cursor is not the next_cursor of a page in this order');
}
