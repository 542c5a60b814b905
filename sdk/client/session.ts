/** The state of one socket, that is, what the client has sent and received on it. It ends with the socket. */
import type {
  DataVersion,
  ServerMessage,
  StateVersion,
  Transition,
} from '../../shared/protocol/function-socket/server-message.ts';
import {TransitionParts} from './transition-parts.ts';

export type Session = {
  /** The socket is lost, so nothing in this session matters any more. */
  isLost: boolean;
  /** The server's timeline. Undefined: the server has not sent its hello yet. */
  timeline?: string;
  /** The version of the results that are shown. */
  version: StateVersion;
  /** The revision of `Identity` that was last sent. */
  revision: number;
  identityVersion: number;
  isIdentityConfirmed: boolean;
  /** The first query set sent; once it is shown, the client has caught up. Undefined: nothing has been sent. */
  greeted?: number;
  hasCaughtUp: boolean;
  /** The server knows that results from this query set on must be of at least this version. */
  floor?: {version: DataVersion; querySet: number};
  readonly parts: TransitionParts;
  /** Transitions that wait, with the `hasFloats` of their texts. */
  readonly held: {transition: Transition; hasFloats: boolean}[];
};

/**
 * @param revision the identity's revision if the server needs no message, because a connection starts without a user;
 * otherwise -1
 */
export function newSession(revision: number): Session {
  return {
    isLost: false,
    version: {query_set: 0, identity: 0, ts: 0},
    revision,
    identityVersion: 0,
    isIdentityConfirmed: false,
    hasCaughtUp: false,
    parts: new TransitionParts(),
    held: [],
  };
}

export function isSameVersion(a: StateVersion, b: StateVersion): boolean {
  return a.query_set === b.query_set && a.identity === b.identity && a.ts === b.ts;
}

/** Null: not JSON. The content is trusted: the server speaks the negotiated protocol. */
export function parsedMessage(text: string): ServerMessage | null {
  try {
    return JSON.parse(text) as ServerMessage;
  } catch {
    return null; // The caller opens another socket.
  }
}
