/**
 * What one invocation has read: ids (also of documents that are not there) and stretches of tables and indexes, each as far as
 * it was really read. A result needs to be computed again only when a commit touches one of them.
 */
import type {DocumentRow} from '../../queries/reader.ts';
import type {QueryPlan} from './query-plan.ts';
import type {Position, Scan} from './scan.ts';

export class ReadRange {
  readonly table: string;
  /** Null: the table by creation time. */
  readonly index: string | null;
  /** The range as it was asked for, see QuerySpec. */
  readonly range: unknown;
  readonly order: 'asc' | 'desc';
  #scan: Scan | null = null;
  #last: DocumentRow | null = null;
  #isWhole = true;

  constructor({source, reverse}: QueryPlan) {
    this.table = source.table;
    this.index = source.index;
    this.range = source.range;
    this.order = reverse ? 'desc' : 'asc';
  }

  /** @param last the last row that was looked at; null: the scan ran off the end */
  readTo(scan: Scan, last: DocumentRow | null): void {
    this.#scan = scan;
    this.#last = last;
    this.#isWhole = last === null;
  }

  /** Up to this row, included; null: to the end. Worked out only when it is asked for. */
  get end(): Position | null {
    return this.#isWhole ? null : this.#scan!.position(this.#last!);
  }
}

export class ReadSet {
  readonly ids = new Set<string>();
  readonly ranges: ReadRange[] = [];
}
