/**
 * Saves an export as a file. A link cannot send the header that the dashboard's calls need, so the page exchanges the
 * path for an address that opens once. The browser writes the file while it arrives, and shows its progress.
 */
import type {QueryOf} from '../../shared/operation-types.ts';
import type {Download} from '../../shared/protocol/dashboard.ts';
import {send} from './client.ts';

/** @throws ApiFailure */
export async function saveExport(tenant: string, query: QueryOf<'exports.run'>): Promise<void> {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const response = await send('/_dashboard/downloads', {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({path: `/api/tenants/${encodeURIComponent(tenant)}/export?${search}`}),
  });
  const {url} = (await response.json()) as Download;
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
