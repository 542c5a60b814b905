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
};
export type TenantPage = PageEntry<TenantPageProps>;
export type ServerPage = PageEntry<object>;

export const TENANT_PAGES: readonly TenantPage[] = [
  {
    id: 'overview',
    title: 'Overview',
    icon: 'overview',
    needs: 'tenants.list',
    Content: lazy(() => import('../pages/overview/overview.tsx')),
  },
  {
    id: 'data',
    title: 'Data',
    icon: 'data',
    needs: 'documents.list',
    Content: lazy(() => import('../pages/data/data.tsx')),
  },
];

export const SERVER_PAGES: readonly ServerPage[] = [
  {
    id: 'tenants',
    title: 'Tenants',
    icon: 'tenants',
    needs: 'tenants.list',
    Content: lazy(() => import('../pages/tenants/tenants.tsx')),
  },
];
