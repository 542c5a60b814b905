/** What routers tell the supervisor of operators' actions. */

export type AuditedAction = {
  operation: string;
  /** Null: the server itself. */
  tenant: string | null;
  /** What it is done to, by the names of the path's parameters. Never a value. */
  subject: Record<string, string>;
  /** Null: an admin credential. */
  key: string | null;
  key_name: string;
  address: string;
  request_id: string;
};

/** How it was answered. `status`: null when nobody was there any more. */
export type AuditedOutcome = {of: number; status: number | null; code: string | null};

/** A page as the route answers it, records as texts. */
export type AuditRequest = {action: 'audit_page'; after: number | null; limit: number};
