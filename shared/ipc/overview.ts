/** The requests of routers about the states of tenants. Each is answered with the body of the route's response. */
import type {OverviewOrder, TenantState} from '../protocol/tenant-status.ts';

export type OverviewRequest = {
  limit: number;
  cursor: string | null;
  search: string;
  state: TenantState | null;
  order: OverviewOrder;
};

/** `name`: of a function; null: all. */
export type FiguresRequest = {fromMs: number; toMs: number; stepSeconds: number; name: string | null};

/** `pause_for_reads`: it goes on answering reads. */
export type TenantAction = 'wake' | 'sleep' | 'pause' | 'pause_for_reads' | 'resume';

/** `visible`: the tenants of the caller's key; null: all. */
export type StatusRequest =
  | {action: 'server_status'}
  | {action: 'tenants_overview'; page: OverviewRequest; visible: string[] | null}
  /** `tenant`: null: the server. */
  | {action: 'figures'; tenant: string | null; of: 'requests' | 'functions'; range: FiguresRequest}
  | {action: 'tenant_status'; tenant: string}
  | {action: 'tenant_control'; tenant: string; does: TenantAction};
