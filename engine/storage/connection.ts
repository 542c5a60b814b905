/** A connection to a tenant's file. `database.ts` opens them. */
import type Database from 'better-sqlite3';

export type Connection = Database.Database;
