/** Lines of JSON in one streamed import. */
import {Readable} from 'node:stream';
import {request} from 'undici';
import {tenantPath} from '../../cli/client.ts';
import type {ImportResult} from '../../shared/protocol/imports.ts';
import type {SvcPeer} from '../peers/svc/start.ts';

/** @returns the number of documents inserted */
export async function importChunks(
  svc: SvcPeer,
  tenant: string,
  table: string,
  chunks: readonly Buffer[],
): Promise<number> {
  const {statusCode, body} = await request(`${svc.url}${tenantPath(tenant, 'import')}?table=${table}`, {
    method: 'POST',
    headers: {authorization: `Bearer ${svc.token}`, 'content-type': 'application/x-ndjson'},
    body: Readable.from(chunks),
    headersTimeout: 0,
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`the import answered ${statusCode}: ${text}`);
  return (JSON.parse(text) as ImportResult).inserted;
}
