/** What a path names: a page of the server, or a page of a tenant. */
import {SERVER_PAGES, type ServerPage, TENANT_PAGES, type TenantPage} from './pages.ts';

export type Place =
  | {readonly kind: 'server'; readonly page: ServerPage}
  | {readonly kind: 'tenant'; readonly page: TenantPage; readonly tenant: string; readonly rest: readonly string[]}
  | {readonly kind: 'none'};

/** @param path below the dashboard's own. @returns its steps, decoded */
export function stepsOf(path: string): string[] {
  return path
    .split('/')
    .filter(step => step !== '')
    .map(decoded);
}

/** @param steps of the path below the dashboard's own, decoded */
export function placeOf(steps: readonly string[]): Place {
  if (steps[0] === 't') {
    const [, tenant, id, ...rest] = steps;
    const page = TENANT_PAGES.find(one => one.id === id);
    return page === undefined || tenant === undefined ? {kind: 'none'} : {kind: 'tenant', page, tenant, rest};
  }
  const page = steps.length === 1 ? SERVER_PAGES.find(one => one.id === steps[0]) : undefined;
  return page === undefined ? {kind: 'none'} : {kind: 'server', page};
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // A broken escape: the page shows that there is nothing at this address.
  }
}
