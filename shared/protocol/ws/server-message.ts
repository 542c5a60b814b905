/**
 * The types of the server's messages on /ws, tagged by `type`. `subscription_result` is built from text, see
 * router/live/live-topic.ts.
 */
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
  /** About the session; the connection stays open. */
  | {type: 'error'; error: ErrorObject}
  /** About the request with this id; the connection stays open. */
  | {type: 'op.error'; id: string; error: ErrorObject}
  /** Terminal; close frame 1008 with the code as reason follows. */
  | {type: 'fatal_error'; error: ErrorObject};
