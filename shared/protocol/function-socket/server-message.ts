/**
 * The types of the server's messages on the function socket, tagged by `type`. Types only: clients import this file,
 * and nothing else comes with it.
 *
 * A client's state is a version: which set of queries, which identity, which commit. Each `transition` leads from
 * exactly the previous version to the next, for all queries at once, so everything that a client shows is of one
 * version.
 */
import type {ErrorObject} from '../../errors.ts';

/**
 * `query_set` and `identity` are the client's own counters; `ts` is the journal sequence that the results show. A
 * socket begins at 0, 0, 0.
 */
export type StateVersion = {query_set: number; identity: number; ts: number};

/** The version of a value, however it arrived: the newest commit in it, as a sequence of this timeline's journal. */
export type DataVersion = {timeline: string; ts: number};

/**
 * What became of the calls that were under way when a socket got another worker. `answered`: the former worker has
 * answered all that it received, so the others did not run. `lost`: each of them may have run.
 */
export type Resumed = 'answered' | 'lost';

/** Facts of a query's result; `journal` is echoed when the query is added again on another socket. */
type ResultFacts = {
  query_id: number;
  /** Identifies the result: equal texts have equal digests. */
  digest: string;
  journal?: string;
  /** Lines that the function logged in this run; never in production. */
  log_lines?: string[];
  because?: Because;
};

/**
 * Edits of the previous result's text: position, number of UTF-16 units removed, text inserted; ascending, without
 * overlap.
 */
export type TextDelta = [at: number, removed: number, inserted: string][];

/**
 * Why the query ran again, for people: a write to something that the previous run read, or a change that affects all
 * queries.
 */
export type Because =
  | {cause: 'added' | 'identity' | 'deployment' | 'environment' | 'schema' | 'unknown'}
  | {cause: 'written'; ts: number; table: string; id: string};

export type QueryUpdate =
  | (ResultFacts & {value: unknown})
  /**
   * The result's JSON text as edits of the previous text, as that was sent or as deltas produced it. The new text must
   * have the digest.
   */
  | (ResultFacts & {delta: TextDelta})
  /** The result is the one that `known` identified. */
  | (ResultFacts & {unchanged: true})
  | {query_id: number; error: string; log_lines?: string[]; because?: Because};

export type Transition = {
  type: 'transition';
  /** The client's current version; if it differs, the client reconnects. */
  from: StateVersion;
  /** Queries that `changes` does not mention are unchanged at this version. */
  to: StateVersion;
  changes: QueryUpdate[];
};

export type ServerMessage =
  | {
      type: 'hello';
      protocol: string;
      server: {version: string; build: string};
      features: string[];
      /**
       * serverNow: epoch milliseconds. timeline: the history to which `ts` belongs; a client that has seen another one
       * discards the versions that it has seen. resumed: a further hello on the same socket, whose tenant has another
       * worker now. The client begins again with a `client_hello` that names this session.
       */
      session: {id: string; serverNow: number; timeline: string; resumed?: Resumed};
    }
  | Transition
  /** A long transition: its JSON text in chunks, index 0 to count - 1, with no other message in between. */
  | {type: 'transition_part'; index: number; count: number; text: string}
  /** `ts`: the sequence of its commit. A transition to at least that sequence follows, or was sent before. */
  | {type: 'mutation_result'; request_id: number; ok: true; value: unknown; ts: number; log_lines?: string[]}
  | ({type: 'mutation_result'} & Failed)
  | {type: 'action_result'; request_id: number; ok: true; value: unknown; log_lines?: string[]}
  | ({type: 'action_result'} & Failed)
  /**
   * The token of this identity version is not (or no longer) valid. No results are sent until the client authenticates
   * again.
   */
  | {type: 'auth_error'; identity: number; error: ErrorObject}
  /** Terminal: a close frame 1008 with the code as its reason follows, and the client does not reconnect. */
  | {type: 'fatal_error'; error: ErrorObject}
  /** A sign of life. */
  | {type: 'ping'};

/** `code`: set if the service refused the call (session.overloaded, …) and the function did not run. */
type Failed = {request_id: number; ok: false; error: string; code?: string; log_lines?: string[]};
