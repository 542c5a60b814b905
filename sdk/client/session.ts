/** What a client has said and heard on one socket. Gone with it. */
import type {
  DataVersion,
  ServerMessage,
  StateVersion,
  Transition,
} from '../../shared/protocol/function-socket/server-message.ts';
import {TransitionParts} from './transition-parts.ts';

export type Session = {
  /** Its socket is gone: nothing of it matters any more. */
  isLost: boolean;
  /** Of the server's history. Undefined: it has not said hello yet. */
  timeline?: string;
  /** Where the results are that are shown. */
  version: StateVersion;
  /** Of `Identity`, the one that was told last. */
  revision: number;
  identityVersion: number;
  isIdentityConfirmed: boolean;
  /** The query set that was sent first: once it is shown, the client has caught up. Undefined: nothing has been sent. */
  greeted?: number;
  hasCaughtUp: boolean;
  /** The server knows that results from this query set on are to be of this version at least. */
  floor?: {version: DataVersion; querySet: number};
  readonly parts: TransitionParts;
  /** Transitions that wait, with their texts' `hasFloats`. */
  readonly held: {transition: Transition; hasFloats: boolean}[];
};

/** @param revision of the identity if the server need not be told, for it takes everybody for nobody at first; else -1 */
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

/** Null: it is no JSON. What it says is believed: the server speaks the protocol that was agreed on. */
export function parsedMessage(text: string): ServerMessage | null {
  try {
    return JSON.parse(text) as ServerMessage;
  } catch {
    return null; // Whoever asked opens another socket.
  }
}
