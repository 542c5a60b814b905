/** Sends JSON lines to the import of a tenant. */
import type {AnswerOf} from '../../../../shared/operation-types.ts';
import type {ImportQuery} from '../../../../shared/protocol/imports.ts';
import {send} from '../../../api/client.ts';
import {ApiFailure} from '../../../api/failure.ts';
import {protectionOf} from '../../../api/production.ts';

export type ImportAnswer = AnswerOf<'imports.run'>;

/** @throws ApiFailure */
export async function sendLines(
  tenant: string,
  query: ImportQuery,
  body: string,
  signal?: AbortSignal,
): Promise<ImportAnswer> {
  if (protectionOf(tenant) === 'locked')
    throw new ApiFailure('read_only', `${tenant} is marked as production and read-only. Unlock it to import.`, 0);
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const response = await send(`/_dashboard/api/tenants/${encodeURIComponent(tenant)}/import?${search}`, {
    method: 'POST',
    headers: {'Content-Type': 'application/x-ndjson'},
    body,
    ...(signal === undefined ? {} : {signal}),
  });
  return (await response.json()) as ImportAnswer;
}
