/** The messages in which routers report operators' actions to the supervisor. */

export type AuditedAction = {
  operation: string;
  /** Null: the server itself. */
  tenant: string | null;
  /** The object of the action, by the names of the path's parameters. Never a value. */
  subject: Record<string, string>;
  /** Null: an admin credential. */
  key: string | null;
  key_name: string;
  /** The session of the dashboard; absent: none. */
  session?: string;
  address: string;
  request_id: string;
};

/** The outcome of an action. `status`: null if the client had disconnected. */
export type AuditedOutcome = {of: number; status: number | null; code: string | null};

/** Identical requests that were refused because of their credential, with their count. Contains no secret. */
export type RefusedRequest = {
  /** Null: no route matched. */
  operation: string | null;
  /** The tenant that the request named, whether or not it exists; null: none was named. */
  tenant: string | null;
  code: string;
  /** The valid key that lacks the right; null: the request had no valid credential. */
  key: string | null;
  key_name: string | null;
  /** The invalid credential that was presented, as far as it can be disclosed; null: none. */
  shown: string | null;
  address: string;
  request_id: string;
  /** 1: the first of its kind; more: how many followed it, of which this is the last. */
  count: number;
};

/** A page as the route returns it, with records as texts. */
export type AuditRequest = {action: 'audit_page'; of: 'actions' | 'refusals'; after: number | null; limit: number};
