/**
 * What the clients of one tenant did and saw. Each write leaves its marker in the documents that it changes, so a document
 * says by which write it was changed last, and the journal says in which order they were made.
 */
import type {Doc} from '../../harness/tenant.ts';

/** `unknown`: it may still happen, once. `refused`: the answer promises that it does not. */
export type WriteOutcome = 'acknowledged' | 'refused' | 'unknown';

export type Write = {
  readonly marker: string;
  readonly beganMs: number;
  /** When it was acknowledged or refused. */
  endedMs: number;
  outcome: WriteOutcome;
  /** For people: where it went, and every answer. */
  readonly answers: string[];
  /** A job: it is made by this write, and runs later. */
  readonly isJob: boolean;
};

/** Documents as they were at one moment between `beganMs` and `endedMs`, by table and id. */
export type Read = {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly by: string;
  readonly documents: ReadonlyMap<string, Doc>;
};

/**
 * The results of one live query on one connection, in the order in which they came. `least`: the sequence that its client
 * said to have seen.
 */
export type Subscription = {readonly on: string; readonly least: number; isOpen: boolean; readonly results: Read[]};

export class Notes {
  readonly tenant: string;
  readonly writes = new Map<string, Write>();
  readonly reads: Read[] = [];
  readonly subscriptions: Subscription[] = [];
  /** Answers that no request can get. */
  readonly unexpected: string[] = [];

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  begin(marker: string, isJob = false): Write {
    const write: Write = {
      ...{marker, isJob},
      beganMs: performance.now(),
      endedMs: Number.POSITIVE_INFINITY,
      outcome: 'unknown',
      answers: [],
    };
    this.writes.set(marker, write);
    return write;
  }

  end(write: Write, outcome: WriteOutcome): void {
    write.outcome = outcome;
    if (outcome !== 'unknown') write.endedMs = performance.now();
  }
}

export function keyOf(table: string, id: string): string {
  return `${table}/${id}`;
}

/** The write that changed it last; null: it is as it was made. */
export function markerOf(document: Readonly<Record<string, unknown>>): string | null {
  return typeof document.last === 'string' ? document.last : null;
}
