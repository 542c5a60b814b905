/** THE list of pages. Each is a chunk of its own that is loaded on first use. Add a page here and nowhere else. */
import {type ComponentType, lazy} from 'react';
import type {AnyOperation} from '../api/client.ts';
import type {IconName} from '../parts/icon.tsx';
import type {TenantPageProps} from '../parts/page.tsx';

type PageEntry<Props> = {
  /** Its step in the path. */
  readonly id: string;
  readonly title: string;
  readonly icon: IconName;
  /** Pages that a session may not use are not in the navigation. */
  readonly needs: AnyOperation;
  readonly Content: ComponentType<Props>;
  /** Loads its chunk, before it is shown. */
  readonly load: () => Promise<unknown>;
};
export type TenantPage = PageEntry<TenantPageProps>;
export type ServerPage = PageEntry<object>;

function chunk<Props>(
  load: () => Promise<{default: ComponentType<Props>}>,
): Pick<PageEntry<Props>, 'Content' | 'load'> {
  return {load, Content: lazy(load)};
}

/** In the order of the navigation. */
export const TENANT_PAGES: readonly TenantPage[] = [
  {
    id: 'overview',
    title: 'Overview',
    icon: 'overview',
    needs: 'tenants.status',
    ...chunk(() => import('../pages/overview/overview.tsx')),
  },
  {
    id: 'data',
    title: 'Data',
    icon: 'data',
    needs: 'documents.list',
    ...chunk(() => import('../pages/data/data.tsx')),
  },
  {
    id: 'schema',
    title: 'Schema',
    icon: 'schema',
    needs: 'schema.all',
    ...chunk(() => import('../pages/schema/schema.tsx')),
  },
  {
    id: 'journal',
    title: 'Journal',
    icon: 'journal',
    needs: 'journal.page',
    ...chunk(() => import('../pages/journal/journal.tsx')),
  },
  {
    id: 'functions',
    title: 'Functions',
    icon: 'functions',
    needs: 'functions.list',
    ...chunk(() => import('../pages/functions/functions.tsx')),
  },
  {
    id: 'logs',
    title: 'Logs',
    icon: 'logs',
    needs: 'logs.read',
    ...chunk(() => import('../pages/logs/logs.tsx')),
  },
  {
    id: 'schedules',
    title: 'Schedules',
    icon: 'schedules',
    needs: 'schedule.all',
    ...chunk(() => import('../pages/schedules/schedules.tsx')),
  },
  {
    id: 'deployments',
    title: 'Deployments',
    icon: 'deployments',
    needs: 'deployments.list',
    ...chunk(() => import('../pages/deployments/deployments.tsx')),
  },
  {
    id: 'live',
    title: 'Live queries',
    icon: 'live',
    needs: 'live_queries.list',
    ...chunk(() => import('../pages/live/live.tsx')),
  },
  {
    id: 'services',
    title: 'Services',
    icon: 'services',
    needs: 'services.list',
    ...chunk(() => import('../pages/services/services.tsx')),
  },
  {
    id: 'backups',
    title: 'Backups',
    icon: 'backups',
    needs: 'backup.points',
    ...chunk(() => import('../pages/backups/tenant-backups.tsx')),
  },
  {
    id: 'settings',
    title: 'Settings',
    icon: 'settings',
    needs: 'settings.get',
    ...chunk(() => import('../pages/settings/settings.tsx')),
  },
];

export const SERVER_PAGES: readonly ServerPage[] = [
  {
    id: 'tenants',
    title: 'Tenants',
    icon: 'tenants',
    needs: 'tenants.overview',
    ...chunk(() => import('../pages/tenants/tenants.tsx')),
  },
  {
    id: 'backups',
    title: 'Backups',
    icon: 'backups',
    needs: 'backup.status',
    ...chunk(() => import('../pages/backups/backups.tsx')),
  },
  {
    id: 'keys',
    title: 'Keys',
    icon: 'keys',
    needs: 'keys.list',
    ...chunk(() => import('../pages/keys/keys.tsx')),
  },
  {
    id: 'sessions',
    title: 'Sessions',
    icon: 'people',
    needs: 'dashboard.sessions',
    ...chunk(() => import('../pages/sessions/sessions.tsx')),
  },
  {
    id: 'audit',
    title: 'Audit',
    icon: 'audit',
    needs: 'audit.page',
    ...chunk(() => import('../pages/audit/audit.tsx')),
  },
  {
    id: 'server',
    title: 'Server',
    icon: 'server',
    needs: 'server.status',
    ...chunk(() => import('../pages/server/server.tsx')),
  },
];
