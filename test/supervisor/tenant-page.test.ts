import fc from 'fast-check';
import {expect, test} from 'vitest';
import {ServiceError} from '../../shared/errors.ts';
import type {OverviewRequest} from '../../shared/ipc/overview.ts';
import {TENANT_STATES} from '../../shared/protocol/tenant-status.ts';
import {type Page, type PagedTenant, tenantPage} from '../../supervisor/tenants/tenant-page.ts';

type Paged = PagedTenant<string>;
const ALL: OverviewRequest = {limit: 3, cursor: null, search: '', state: null, order: 'requests'};

const ids = fc.uniqueArray(fc.stringMatching(/^[abAB]{1,6}$/), {maxLength: 20});
const tenants = ids.chain(names =>
  fc.tuple(
    ...names.map(id =>
      fc.record<Paged>({
        of: fc.constant(id),
        id: fc.constant(id),
        state: fc.constantFrom(...TENANT_STATES),
        value: fc.integer({min: 0, max: 3}),
      }),
    ),
  ),
);

test('the pages together are what a sorted, filtered list has, however long they are', () => {
  const request = fc.record({
    search: fc.constantFrom('', 'a', 'B', 'ab'),
    state: fc.constantFrom(null, ...TENANT_STATES),
    limit: fc.integer({min: 1, max: 7}),
  });
  fc.assert(
    fc.property(tenants, request, (all, given) => {
      const found = all.filter(({id}) => id.toLowerCase().includes(given.search.toLowerCase()));
      const matching = found.filter(({state}) => given.state === null || state === given.state);
      const sorted = matching.toSorted((a, b) => b.value - a.value || (a.id < b.id ? -1 : 1));
      const paged: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Page<string> = tenantPage(all, {...ALL, ...given, cursor});
        expect(page.tenants.length).toBeLessThanOrEqual(given.limit);
        expect(page.total).toBe(matching.length);
        for (const state of TENANT_STATES)
          expect(page.states[state]).toBe(found.filter(tenant => tenant.state === state).length);
        expect(page.has_more).toBe(page.next_cursor !== null);
        paged.push(...page.tenants);
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(paged).toEqual(sorted.map(({id}) => id));
    }),
  );
});

test('a cursor is of one order, and anything else is refused by name', () => {
  const two = [...'ab'].map((id): Paged => ({of: id, id, state: 'awake', value: 0}));
  const {next_cursor: cursor} = tenantPage(two, {...ALL, limit: 1});
  for (const wrong of ['', 'x', '[]', Buffer.from('[1,2,3]').toString('base64url')]) {
    expect(() => tenantPage(two, {...ALL, cursor: wrong})).toThrow(ServiceError);
  }
  expect(() => tenantPage(two, {...ALL, cursor, order: 'id'})).toThrow('not the next_cursor of a page in this order');
});
