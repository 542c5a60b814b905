/**
 * One query that sockets hold: a function, its arguments and where its page ends. Its subscribers share an answer, unless the function looked at who
 * asks: then those of one identity do.
 *
 *   unknown ──first run──▶ shared ◀──a run did not look──▶ by identity
 *                             └──────a run looked──────────────▲
 *
 * A run that did not look is right for everybody: with the same data and arguments the function does the same for anybody, up to where it would look.
 * So while answers are shared one subscriber's run serves all.
 */
import type {Because} from '../../../shared/protocol/function-socket/server-message.ts';
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
/** Those of a few who have gone are not looked for each time. */
const STRANGERS_KEPT = 8;

export class HeldQuery {
  readonly key: string;
  readonly kind: Asked['kind'];
  readonly path: string;
  /** Wire JSON. */
  readonly args: string;
  readonly holders = new Set<Holder>();
  /** Runs that are asked for or under way, by their slot, and why. */
  readonly wanted = new Map<string, Because>();
  #isShared = true;
  #shared: Answer | null = null;
  readonly #byIdentity = new Map<string, Answer>();
  /** Where its page ends, as a client said; null: where its first run ended it. */
  #journal: string | null;
  /** Where that was, by slot. */
  readonly #pins = new Map<string, string>();

  constructor(key: string, {kind, path, args, journal}: Asked) {
    this.key = key;
    this.kind = kind;
    this.path = path;
    this.args = args;
    this.#journal = journal;
  }

  get chars(): number {
    return this.key.length + this.path.length + this.args.length;
  }

  /** The newest answer for whoever is `identity`; null: it has not been run for them. */
  answerFor(identity: string | null): Answer | null {
    return this.#isShared ? this.#shared : (this.#byIdentity.get(nameOf(identity)) ?? null);
  }

  /** Answers depend on who asks. */
  get isByIdentity(): boolean {
    return !this.#isShared;
  }

  /** All that are the newest of somebody. */
  *answers(): Generator<Answer> {
    if (this.#shared !== null) yield this.#shared;
    yield* this.#byIdentity.values();
  }

  /** Which runs would give each of its holders an answer that is open. */
  missing(): Slot[] {
    if (this.#isShared) {
      if (this.#shared?.isOpen === true) return [];
      const [first] = this.holders;
      return first === undefined ? [] : [{key: SHARED, identity: first.identity}];
    }
    const slots = new Map<string, Slot>();
    for (const {identity} of this.holders) {
      const key = nameOf(identity);
      if (this.#byIdentity.get(key)?.isOpen !== true) slots.set(key, {key, identity});
    }
    return [...slots.values()];
  }

  /** A run for `identity` came to this. */
  take(answer: Answer, identity: string | null, identityUsed: boolean): void {
    this.#isShared = !identityUsed;
    const replaced = identityUsed ? this.#byIdentity.get(nameOf(identity)) : this.#shared;
    replaced?.letGo();
    if (identityUsed) {
      // What was shared says nothing about those who are told apart now.
      this.#shared?.letGo();
      this.#shared = null;
      this.#byIdentity.set(nameOf(identity), answer);
      return;
    }
    for (const one of this.#byIdentity.values()) one.letGo();
    this.#byIdentity.clear();
    this.#shared = answer;
  }

  /** Where the page of this slot's next run ends; null: nowhere yet. */
  journalOf({key}: Slot): string | null {
    return this.#journal ?? this.#pins.get(key) ?? null;
  }

  /** The same for whoever is `identity`. */
  journalFor(identity: string | null): string | null {
    return this.#journal ?? this.#pins.get(this.#isShared ? SHARED : nameOf(identity)) ?? null;
  }

  /** The page of this answer ends where it does from now on. @returns whether that is news: newcomers get a page of their own */
  pin(answer: Answer): boolean {
    if (this.#journal !== null || answer.journal === null) return false;
    if (answer === this.#shared) this.#pins.set(SHARED, answer.journal);
    for (const [name, one] of this.#byIdentity) if (one === answer) this.#pins.set(name, answer.journal);
    return true;
  }

  /** Where its page ended means nothing any more. */
  unpin(): void {
    this.#journal = null;
    this.#pins.clear();
  }

  /** So many answers and ends of pages are kept that most must be of identities that nobody has any more. */
  get hasStrangers(): boolean {
    return Math.max(this.#byIdentity.size, this.#pins.size) > 2 * this.holders.size + STRANGERS_KEPT;
  }

  /** What is kept of identities that nobody has any more. */
  forgetStrangers(): void {
    if (this.#byIdentity.size === 0 && this.#pins.size === 0) return;
    const known = new Set([...this.holders].map(({identity}) => nameOf(identity)));
    for (const [name, answer] of this.#byIdentity) {
      if (known.has(name)) continue;
      answer.letGo();
      this.#byIdentity.delete(name);
    }
    for (const name of this.#pins.keys()) if (name !== SHARED && !known.has(name)) this.#pins.delete(name);
  }

  letGo(): void {
    for (const answer of this.answers()) answer.letGo();
  }
}

/** Not empty, which is the name of what all share. */
function nameOf(identity: string | null): string {
  return identity ?? 'null';
}
