/** Status lines by status, built once. */
import {STATUS_CODES} from 'node:http';

const LINES: string[] = [];
for (const [status, text] of Object.entries(STATUS_CODES)) LINES[Number(status)] = `${status} ${text}`;

export function statusLine(status: number): string {
  return LINES[status] ?? `${status} Status`;
}
