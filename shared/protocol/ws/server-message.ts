/** What the server sends on /ws, tagged by `type`. `subscription_result` is built from text, see router/live/live-topic.ts. */
import type {ErrorObject} from '../../errors.ts';

export type ServerMessage =
  | {
      type: 'hello';
      protocol: string;
      server: {version: string; build: string};
      features: string[];
      /** serverNow: epoch milliseconds. */
      session: {id: string; serverNow: number};
    }
  | {
      type: 'subscription_result';
      subscription_id: number;
      data: unknown[] /** First result only. */;
      request_id?: string;
    }
  | {type: 'authenticated'; is_authenticated: boolean}
  /** Session-level; the connection stays open. */
  | {type: 'error'; error: ErrorObject}
  /** Tied to the request of this id; the connection stays open. */
  | {type: 'op.error'; id: string; error: ErrorObject}
  /** Terminal; close 1008 with the code as reason follows. */
  | {type: 'fatal_error'; error: ErrorObject};
