/** What the list shows of a tenant. */
import {Link} from 'wouter';
import {pathOf} from '../../parts/page.tsx';
import type {Column} from '../../parts/table.tsx';
import {TenantState, type TenantStatus} from '../../parts/tenant-state.tsx';
import {Bytes, countText, durationText, Time} from '../../parts/values.tsx';

const none = <span title="no requests in the last minute">–</span>;

export const TENANT_COLUMNS: readonly Column<TenantStatus>[] = [
  {title: 'Tenant', grows: true, cell: ({id}) => <Link href={pathOf(id, 'overview')}>{id}</Link>},
  {title: 'State', cell: ({state}) => <TenantState state={state} />},
  {title: 'Documents', align: 'end', cell: ({documents}) => (documents === null ? '–' : countText(documents))},
  {title: 'Disk', align: 'end', cell: ({disk_bytes}) => <Bytes value={disk_bytes} />},
  {title: 'Requests/s', align: 'end', cell: ({requests_per_second: rate}) => countText(Math.round(rate * 10) / 10)},
  {title: 'Errors', align: 'end', cell: ({error_rate: rate}) => percent(rate)},
  {title: 'p50', align: 'end', cell: ({p50_ms: ms}) => (ms === null ? none : durationText(ms))},
  {title: 'p99', align: 'end', cell: ({p99_ms: ms}) => (ms === null ? none : durationText(ms))},
  {title: 'Sockets', align: 'end', cell: ({sockets}) => countText(sockets)},
  {title: 'Last active', cell: ({last_active_at: at}) => (at === null ? '–' : <Time at={at} />)},
];

function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}
