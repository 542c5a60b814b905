/**
 * Parses JSON from a realm. User code can have tampered with the encoder there, so the text can be anything, even
 * invalid JSON.
 */
import {DatabaseFault} from './database-fault.ts';

/** @throws DatabaseFault */
export function parseRealmJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DatabaseFault('a database call is not JSON');
  }
}
