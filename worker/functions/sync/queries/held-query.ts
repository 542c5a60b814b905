/**
 * One query that sockets hold: a function, its arguments and where its page ends. Its subscribers share an answer, unless the function looked at who
 * asks: then those of one identity do.
 *
 *   unknown ──first run──▶ shared ◀──a run did not look──▶ by identity
 *                             └──────a run looked──────────────▲
 *
 * A run that did not look is right for everybody: with the same data and arguments the function does the same for anybody, up to where it would look.
 * So while answers are shared one subscriber's run serves all.
 *
 * Where the page of its first answer ended, it ends in all that follow (the reference, 3.7): those who share an answer share its end, and who
 * is told apart has one of their own. As long as ends differ, answers are not shared, whether or not a run looked.
 */
import {assert} from '../../../../shared/assert.ts';
import type {Because} from '../../../../shared/protocol/function-socket/server-message.ts';
import type {Answer} from './answer.ts';
import type {Asked} from './query-runs.ts';

/** Who holds it, under which number. */
export interface Holder {
  /** JSON of who asks; null: nobody in particular. */
  readonly identity: string | null;
  /** What it may be shown has changed. */
  concern(): void;
}

/** Who is asking for a run, where that matters. */
export type Slot = {readonly key: string; readonly identity: string | null};

const SHARED = '';
/** The slot of all holders. */
export const ALL: Slot = {key: SHARED, identity: null};
/** Those of a few who have gone are not looked for each time. */
const STRANGERS_KEPT = 8;

let queries = 0;

export class HeldQuery {
  /** Tells it from any other. */
  readonly n = ++queries;
  readonly key: string;
  readonly kind: Asked['kind'];
  readonly path: string;
  /** Wire JSON. */
  readonly args: string;
  readonly isInternal: boolean;
  /** Runs that are asked for or under way, by their slot, and why. */
  readonly wanted = new Map<string, Because>();
  /** Who holds it, with the name of who they are. */
  readonly #holders = new Map<Holder, string>();
  readonly #named = new Map<string, Set<Holder>>();
  #isShared = true;
  #shared: Answer | null = null;
  /** Null: there was none. Most queries have no such answers and no ends, and thousands are held. */
  #byIdentity: Map<string, Answer> | null = null;
  /** Whose newest answer each is. */
  readonly #names = new Map<Answer, string>();
  #bytes = 0;
  /** Where its page ends, as a client said; null: where its first run ends it. */
  readonly #journal: string | null;
  /** Where the first run of a slot ended it; what all share stands for those who have none. Null: nowhere, its code was replaced. */
  #ends: Map<string, string | null> | null = null;

  constructor(key: string, {kind, path, args, journal, isInternal}: Asked) {
    this.key = key;
    this.kind = kind;
    this.path = path;
    this.args = args;
    this.isInternal = isInternal;
    this.#journal = journal;
  }

  /** What it takes with its answers. */
  get bytes(): number {
    return this.key.length + this.path.length + this.args.length + this.#bytes;
  }

  get isHeld(): boolean {
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

  /** Those whom the answer of this slot is for. */
  holdersOf({key}: Slot): Iterable<Holder> {
    return this.#isShared || key === SHARED ? this.#holders.keys() : (this.#named.get(key) ?? []);
  }

  /** The newest answer for whoever is `identity`; null: it has not been run for them. */
  answerFor(identity: string | null): Answer | null {
    return this.#isShared ? this.#shared : (this.#byIdentity?.get(nameOf(identity)) ?? null);
  }

  /** Answers depend on who asks. */
  get isByIdentity(): boolean {
    return !this.#isShared;
  }

  /** All that are the newest of somebody. */
  answers(): Iterable<Answer> {
    return this.#names.keys();
  }

  /** Whose newest it is; null: nobody's any more. */
  slotOf(answer: Answer): Slot | null {
    const name = this.#names.get(answer);
    return name === undefined ? null : name === SHARED ? this.#sharedSlot() : slotNamed(name);
  }

  /** The run that would give whoever is `identity` an answer that is open; null: they have one. */
  missingFor(identity: string | null): Slot | null {
    if (this.answerFor(identity)?.isOpen === true) return null;
    return this.#isShared ? this.#sharedSlot() : slotNamed(nameOf(identity));
  }

  /** The run of this slot, if it would give somebody an answer that is open; null: nobody waits for it. */
  missingAt(key: string): Slot | null {
    if (this.#isShared) return key === SHARED && this.#shared?.isOpen !== true ? this.#sharedSlot() : null;
    return this.#named.has(key) && this.#byIdentity?.get(key)?.isOpen !== true ? slotNamed(key) : null;
  }

  /** Which runs would give each of its holders an answer that is open. */
  missing(): Slot[] {
    if (this.#isShared) {
      const slot = this.#sharedSlot();
      return this.#shared?.isOpen === true || slot === null ? [] : [slot];
    }
    const missing = [...this.#named.keys()].filter(name => this.#byIdentity?.get(name)?.isOpen !== true);
    return missing.map(slotNamed);
  }

  /** Who would run for whoever is `identity`. */
  slotFor(identity: string | null): Slot {
    return this.#isShared ? {key: SHARED, identity} : slotNamed(nameOf(identity));
  }

  /** A run for `identity` came to this. @param now the newest version, as in all that lets answers go */
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
      // What was shared says nothing about those who are told apart now, but for where their pages end.
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

  /** Where the page of this slot's next run ends; null: nowhere yet. */
  journalOf({key}: Slot): string | null {
    return this.#endOf(key);
  }

  /** The same for one of its holders. */
  journalFor(holder: Holder): string | null {
    return this.#endOf(this.#isShared ? SHARED : this.#holders.get(holder)!);
  }

  /** Pages of it have ends that a newcomer has not asked for. */
  get isPinned(): boolean {
    return this.#journal === null && this.#ends !== null && this.#ends.size > 0;
  }

  /** Where this slot's page ended means nothing any more. */
  unpin({key}: Slot): void {
    this.#endsAt(key, null);
  }

  /** So many answers and ends of pages are kept that most must be of identities that nobody has any more. */
  get hasStrangers(): boolean {
    return Math.max(this.#byIdentity?.size ?? 0, this.#ends?.size ?? 0) > 2 * this.#named.size + STRANGERS_KEPT;
  }

  /** What is kept of identities that nobody has any more. */
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

  /** Whether no page of those who hold it would end elsewhere if they shared one that ends here. */
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

  /** Any of its holders' runs serves all. */
  #sharedSlot(): Slot | null {
    const [first] = this.#holders.keys();
    return first === undefined ? null : {key: SHARED, identity: first.identity};
  }
}

const NOBODY = 'null';

/** Not empty, which is the name of what all share. */
function nameOf(identity: string | null): string {
  return identity ?? NOBODY;
}

function slotNamed(name: string): Slot {
  return {key: name, identity: name === NOBODY ? null : name};
}
