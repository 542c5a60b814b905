/**
 * What the server sends on the function socket, tagged by `type`. Types alone: clients import this, and take nothing else with it.
 *
 * A client's state is a version: which set of queries, of whom, at which moment. Each `transition` leads from exactly the one before to
 * the next, for all queries at once, so that whatever a client shows is of one moment.
 */
import type {ErrorObject} from '../../errors.ts';

/** `query_set` and `identity` are the client's own counts; `ts` is the journal sequence that the results show. A socket begins at 0, 0, 0. */
export type StateVersion = {query_set: number; identity: number; ts: number};

/** What a value shows, whichever way it came: the newest commit in it, as a sequence of this timeline's journal. */
export type DataVersion = {timeline: string; ts: number};

/** Of a query's result; `journal` is echoed when the query is added again on another socket. */
type ResultFacts = {
  query_id: number;
  /** Identifies the result: equal texts have equal digests. */
  digest: string;
  journal?: string;
  /** Lines that the function wrote in this run; never in production. */
  log_lines?: string[];
  because?: Because;
};

/** Where to cut the text of the result before, and what to put there: from, how many UTF-16 units, instead; ascending, apart. */
export type TextDelta = [at: number, removed: number, inserted: string][];

/** Why it ran, for people: a write that touched what the run before had read, or something that concerns all. */
export type Because =
  | {cause: 'added' | 'identity' | 'deployment' | 'environment' | 'schema' | 'unknown'}
  | {cause: 'written'; ts: number; table: string; id: string};

export type QueryUpdate =
  | (ResultFacts & {value: unknown})
  /** The result's JSON text as a change of the text before, as it was sent or came of deltas. What comes of it must have the digest. */
  | (ResultFacts & {delta: TextDelta})
  /** The result is the one that `known` named. */
  | (ResultFacts & {unchanged: true})
  | {query_id: number; error: string; log_lines?: string[]; because?: Because};

export type Transition = {
  type: 'transition';
  /** Where the client is now; anything else: it reconnects. */
  from: StateVersion;
  /** What is not mentioned in `changes` is the same at this moment. */
  to: StateVersion;
  changes: QueryUpdate[];
};

export type ServerMessage =
  | {
      type: 'hello';
      protocol: string;
      server: {version: string; build: string};
      features: string[];
      /** serverNow: epoch milliseconds. timeline: whose history `ts` counts; a client that has seen another one forgets what it has seen. */
      session: {id: string; serverNow: number; timeline: string};
    }
  | Transition
  /** A transition that is long: its JSON text in pieces, index 0 to count - 1, and nothing else between. */
  | {type: 'transition_part'; index: number; count: number; text: string}
  /** `ts`: the sequence of its commit. A transition to at least that follows, or went before. */
  | {type: 'mutation_result'; request_id: number; ok: true; value: unknown; ts: number; log_lines?: string[]}
  | ({type: 'mutation_result'} & Failed)
  | {type: 'action_result'; request_id: number; ok: true; value: unknown; log_lines?: string[]}
  | ({type: 'action_result'} & Failed)
  /** The token of this identity version is not (or no longer) good. Nothing is shown until the client says who it is. */
  | {type: 'auth_error'; identity: number; error: ErrorObject}
  /** Terminal: close 1008 with the code as its reason follows, and the client does not come back. */
  | {type: 'fatal_error'; error: ErrorObject}
  /** The server is there. */
  | {type: 'ping'};

/** `code`: set when the service refused it (session.overloaded, …), and the function did not run. */
type Failed = {request_id: number; ok: false; error: string; code?: string; log_lines?: string[]};
