/**
 * One query that sockets subscribe to: a function, its arguments and where its page ends. All subscribers share an
 * answer, unless the function used the caller's identity: then the subscribers of one identity share one.
 *
 *   unknown ──first run──▶ shared ◀──a run did not look──▶ by identity
 *                             └──────a run looked──────────────▲
 *
 * A run that did not use the identity holds for every caller: with the same data and arguments, the function does the
 * same for all of them up to the point where it would use it. So while answers are shared, one subscriber's run serves
 * all.
 *
 * Where the page of the first answer ended, later pages end too (the reference, 3.7). Subscribers that share an answer
 * share its end; subscribers with separate answers have separate ends. While ends differ, answers are not shared,
 * whether or not a run used the identity.
 */
import type {ListedQuery} from '../../../../engine/live/listed-query.ts';
import type {LiveFigures} from '../../../../engine/live/live-figures.ts';
import {assert} from '../../../../shared/assert.ts';
import type {Because} from '../../../../shared/protocol/function-socket/server-message.ts';
import type {Answer} from './answer.ts';
import type {QueryRequest} from './query-runs.ts';

/** A subscriber, which knows the query under a number of its own. */
export interface Holder {
  /** JSON of the identity; null: anonymous. */
  readonly identity: string | null;
  /** There may be something new to send to it. */
  concern(): void;
}

/** Whose run it is: one slot for all subscribers, or one per identity. */
export type Slot = {readonly key: string; readonly identity: string | null};

const SHARED = '';
/** The slot that all holders share. */
export const ALL: Slot = {key: SHARED, identity: null};
/** Answers of departed identities that are tolerated before a cleanup. */
const STRANGERS_KEPT = 8;

let queries = 0;

export class SubscribedQuery implements ListedQuery {
  /** Unique number of the query. */
  readonly n = ++queries;
  readonly key: string;
  readonly figures: LiveFigures;
  readonly kind: QueryRequest['kind'];
  readonly path: string;
  /** Wire JSON. */
  readonly args: string;
  readonly isInternal: boolean;
  /** Runs requested or under way, by slot, with their reason. */
  readonly wanted = new Map<string, Because>();
  /** Subscribers, with the name of their identity. */
  readonly #holders = new Map<Holder, string>();
  readonly #named = new Map<string, Set<Holder>>();
  #isShared = true;
  #shared: Answer | null = null;
  /**
   * Answers by identity. Null if there are none: thousands of queries are held, and most have neither these nor page
   * ends.
   */
  #byIdentity: Map<string, Answer> | null = null;
  /** The slot name of each current answer. */
  readonly #names = new Map<Answer, string>();
  #bytes = 0;
  /** Page end requested by a client; null: the first run determines it. */
  readonly #journal: string | null;
  /**
   * Page ends found by the first run of each slot; the shared slot's end applies to slots without one. A null entry: no
   * end, because the code was replaced.
   */
  #ends: Map<string, string | null> | null = null;

  constructor(key: string, {kind, path, args, journal, isInternal}: QueryRequest, figures: LiveFigures) {
    this.key = key;
    this.figures = figures;
    this.kind = kind;
    this.path = path;
    this.args = args;
    this.isInternal = isInternal;
    this.#journal = journal;
  }

  /** Memory of the query with its answers. */
  get bytes(): number {
    return this.key.length + this.path.length + this.args.length + this.#bytes;
  }

  get id(): string {
    return `f${this.n}`;
  }

  holders(): number {
    return this.#holders.size;
  }

  get identities(): number | null {
    return this.#isShared ? null : this.#named.size;
  }

  get resultBytes(): number {
    let bytes = 0;
    for (const {result} of this.answers()) bytes += result.ok ? result.text.length : result.error.length;
    return bytes;
  }

  get isCurrent(): boolean {
    return this.wanted.size === 0;
  }

  get subject(): ListedQuery['subject'] {
    return {type: 'function', kind: this.kind, path: this.path, args: this.args};
  }

  get isSubscribed(): boolean {
    return this.#holders.size > 0;
  }

  join(holder: Holder): void {
    const name = nameOf(holder.identity);
    this.#holders.set(holder, name);
    const same = this.#named.get(name);
    if (same === undefined) this.#named.set(name, new Set([holder]));
    else same.add(holder);
  }

  leave(holder: Holder): void {
    const name = this.#holders.get(holder);
    assert(name !== undefined, 'who leaves has joined');
    this.#holders.delete(holder);
    const same = this.#named.get(name)!;
    same.delete(holder);
    if (same.size === 0) this.#named.delete(name);
  }

  /** The subscribers that this slot's answer is for. */
  holdersOf({key}: Slot): Iterable<Holder> {
    return this.#isShared || key === SHARED ? this.#holders.keys() : (this.#named.get(key) ?? []);
  }

  /** The newest answer for this identity; null: there is none yet. */
  answerFor(identity: string | null): Answer | null {
    return this.#isShared ? this.#shared : (this.#byIdentity?.get(nameOf(identity)) ?? null);
  }

  /** Answers depend on the caller's identity. */
  get isByIdentity(): boolean {
    return !this.#isShared;
  }

  /** All current answers. */
  answers(): Iterable<Answer> {
    return this.#names.keys();
  }

  /** The slot of a current answer; null: it was replaced. */
  slotOf(answer: Answer): Slot | null {
    const name = this.#names.get(answer);
    return name === undefined ? null : name === SHARED ? this.#sharedSlot() : slotNamed(name);
  }

  /** The run that would give this identity an open answer; null: it has one. */
  missingFor(identity: string | null): Slot | null {
    if (this.answerFor(identity)?.isOpen === true) return null;
    return this.#isShared ? this.#sharedSlot() : slotNamed(nameOf(identity));
  }

  /** This slot's run, if a subscriber still needs an open answer from it; null: none does. */
  missingAt(key: string): Slot | null {
    if (this.#isShared) return key === SHARED && this.#shared?.isOpen !== true ? this.#sharedSlot() : null;
    return this.#named.has(key) && this.#byIdentity?.get(key)?.isOpen !== true ? slotNamed(key) : null;
  }

  /** The runs that would give each holder an open answer. */
  missing(): Slot[] {
    if (this.#isShared) {
      const slot = this.#sharedSlot();
      return this.#shared?.isOpen === true || slot === null ? [] : [slot];
    }
    const missing = [...this.#named.keys()].filter(name => this.#byIdentity?.get(name)?.isOpen !== true);
    return missing.map(slotNamed);
  }

  /** The slot whose run serves this identity. */
  slotFor(identity: string | null): Slot {
    return this.#isShared ? {key: SHARED, identity} : slotNamed(nameOf(identity));
  }

  /**
   * Installs the answer of a run for `identity`.
   * @param now the newest version, as in all methods that release answers
   */
  take(answer: Answer, identity: string | null, now: number): void {
    const name = nameOf(identity);
    this.#isShared = !answer.identityUsed && (this.#isShared || this.#endsMeet(answer.journal));
    if (this.#isShared) {
      this.letGo(now);
      this.#byIdentity = null;
      this.#shared = answer;
      this.#names.set(answer, SHARED);
      const end = answer.journal ?? this.#endOf(SHARED) ?? this.#endOf(name);
      const isCut = this.#ends?.get(SHARED) === null;
      this.#ends = end !== null || isCut ? new Map([[SHARED, end]]) : null;
    } else {
      // A shared answer does not apply to separate identities; only its page end is still used.
      if (this.#shared !== null) this.#letGo(this.#shared, now);
      this.#shared = null;
      this.#byIdentity ??= new Map();
      const replaced = this.#byIdentity.get(name);
      if (replaced !== undefined) this.#letGo(replaced, now);
      this.#byIdentity.set(name, answer);
      this.#names.set(answer, name);
      if (answer.journal !== null) this.#endsAt(name, answer.journal);
    }
    this.#bytes += answer.bytes;
  }

  /** Where the page of this slot's next run ends; null: not determined yet. */
  journalOf({key}: Slot): string | null {
    return this.#endOf(key);
  }

  /** The same for one of its holders. */
  journalFor(holder: Holder): string | null {
    return this.#endOf(this.#isShared ? SHARED : this.#holders.get(holder)!);
  }

  /** Its pages have ends that a new subscriber has not requested. */
  get isPinned(): boolean {
    return this.#journal === null && this.#ends !== null && this.#ends.size > 0;
  }

  /** Forgets where this slot's page ended. */
  unpin({key}: Slot): void {
    this.#endsAt(key, null);
  }

  /** Most of the stored answers and page ends must belong to identities without subscribers. */
  get hasStrangers(): boolean {
    return Math.max(this.#byIdentity?.size ?? 0, this.#ends?.size ?? 0) > 2 * this.#named.size + STRANGERS_KEPT;
  }

  /** Drops answers and page ends of identities without subscribers. */
  forgetStrangers(now: number): void {
    for (const [name, answer] of this.#byIdentity ?? []) {
      if (this.#named.has(name)) continue;
      this.#letGo(answer, now);
      this.#byIdentity?.delete(name);
    }
    for (const name of this.#ends?.keys() ?? [])
      if (name !== SHARED && !this.#named.has(name)) this.#ends?.delete(name);
  }

  letGo(now: number): void {
    for (const answer of [...this.answers()]) this.#letGo(answer, now);
  }

  #letGo(answer: Answer, now: number): void {
    this.#names.delete(answer);
    this.#bytes -= answer.bytes;
    answer.letGo(now);
    assert(this.#bytes >= 0, 'what answers take is counted once');
  }

  #endsAt(name: string, end: string | null): void {
    this.#ends ??= new Map();
    this.#ends.set(name, end);
  }

  #endOf(name: string): string | null {
    const own = this.#ends?.get(name);
    if (own !== undefined) return own;
    const shared = this.#ends?.get(SHARED);
    return shared === undefined ? this.#journal : shared;
  }

  /** Whether every subscriber's page would keep its end if all shared a page that ends here. */
  #endsMeet(journal: string | null): boolean {
    if (this.#ends === null || this.#ends.size === 0) return true;
    let end = journal;
    for (const name of this.#named.keys()) {
      const its = this.#endOf(name);
      end ??= its;
      if (its !== null && its !== end) return false;
    }
    return true;
  }

  /** Any holder's run serves all of them. */
  #sharedSlot(): Slot | null {
    const [first] = this.#holders.keys();
    return first === undefined ? null : {key: SHARED, identity: first.identity};
  }
}

const ANONYMOUS = 'null';

/** Never empty, because the empty name is the shared slot's. */
function nameOf(identity: string | null): string {
  return identity ?? ANONYMOUS;
}

function slotNamed(name: string): Slot {
  return {key: name, identity: name === ANONYMOUS ? null : name};
}
