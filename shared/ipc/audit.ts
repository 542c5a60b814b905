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

/** Requests that were refused for who asked, as many as are alike. No secret. */
export type RefusedRequest = {
  /** Null: it came to no route. */
  operation: string | null;
  /** That was asked for, whether or not there is one; null: none was named. */
  tenant: string | null;
  code: string;
  /** The valid key that may not do this; null: somebody without a valid credential. */
  key: string | null;
  key_name: string | null;
  /** What was shown in place of a valid credential, as far as it may be told; null: nothing. */
  shown: string | null;
  address: string;
  request_id: string;
  /** 1: the first of its kind; more: of those that came after it, of which this is the last. */
  count: number;
};

/** A page as the route answers it, records as texts. */
export type AuditRequest = {action: 'audit_page'; of: 'actions' | 'refusals'; after: number | null; limit: number};
