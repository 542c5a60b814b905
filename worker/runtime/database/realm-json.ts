/** JSON from a realm. User code may have tampered with what makes it there, so it may be anything, or no JSON at all. */
import {DatabaseFault} from './database-fault.ts';

/** @throws DatabaseFault */
export function parseRealmJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DatabaseFault('a database call is not JSON');
  }
}
