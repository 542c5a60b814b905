/**
 * The sessions of a tenant: leases that callers hold on it. The states are drawn in shared/protocol/sessions.ts.
 *
 * - Opening and closing are on disk before they are answered. A session's own sandbox is written together with the
 *   session.
 * - An execution keeps the lease while it runs, and extends it when it ends. The longer lease is on disk a moment after
 *   the response; if the worker ends in that moment, the earlier lease remains.
 * - A session outlives its worker, but its sandbox does not: later executions are refused, and never run in an empty
 *   sandbox.
 */

import type {Writer} from '../../engine/commit/writer.ts';
import {conflict, invalid, rateLimited} from '../../shared/errors.ts';
import {SANDBOX_TTL_MS_MAX} from '../../shared/limits.ts';
import type {ExecuteBody, SandboxRecord} from '../../shared/protocol/sandboxes.ts';
import type {SessionBody, SessionRecord} from '../../shared/protocol/sessions.ts';
import {newSessionId} from '../../shared/session-id.ts';
import type {ControlParts} from './control-parts.ts';
import {ControlRecords, removeOldest} from './control-records.ts';
import {SESSION_METADATA_CHARS_MAX, SESSION_TTL_MS_DEFAULT, SESSIONS_KEPT, SESSIONS_MAX} from './limits.ts';
import {controlRecords} from './record-table.ts';
import type {Sandboxes} from './sandboxes.ts';

export class Sessions {
  readonly #parts: ControlParts;
  readonly #sandboxes: Sandboxes;
  readonly #records: ControlRecords<SessionRecord>;
  /** Executions under way of each open session. */
  readonly #open = new Map<string, number>();
  /** Own sandboxes that first executions are creating. */
  readonly #making = new Map<string, Promise<string>>();
  /** Sessions whose newest records are about to be written. */
  readonly #unwritten = new Set<string>();

  constructor(parts: ControlParts, sandboxes: Sandboxes) {
    this.#parts = parts;
    this.#sandboxes = sandboxes;
    this.#records = new ControlRecords(controlRecords(parts.db, 'session'), ({id}) => id);
    for (const {id, state} of this.#records.sound()) if (state === 'open') this.#open.set(id, 0);
    this.expire();
  }

  get open(): number {
    return this.#open.size;
  }

  /** When the next lease ends, and when the last one does; epoch milliseconds, null: none is open. */
  get nextEndMs(): number | null {
    let next: number | null = null;
    for (const [id, executions] of this.#open) {
      const {expires_at: endMs} = this.#records.get(id);
      if (executions === 0 && (next === null || endMs < next)) next = endMs;
    }
    return next;
  }
  get lastEndMs(): number | null {
    let last: number | null = null;
    for (const id of this.#open.keys()) {
      const {expires_at: endMs} = this.#records.get(id);
      if (last === null || endMs > last) last = endMs;
    }
    return last;
  }

  /** @throws op.storage_damaged 503 */
  all(): SessionRecord[] {
    this.expire();
    return this.#records.all();
  }

  /** @throws op.not_found 404 */
  get(id: string): SessionRecord {
    this.expire();
    return this.#records.get(id);
  }

  /**
   * @param write performs the write and returns the response; for a repeated request that is an earlier session
   * @throws op.invalid_input 400; op.not_found 404, op.conflict 409 of the sandbox; op.rate_limited 429
   */
  async create<T>(body: SessionBody, write: (store: (writer: Writer) => SessionRecord) => Promise<T>): Promise<T> {
    const {tenant, sandbox_id = null, ttl_ms = SESSION_TTL_MS_DEFAULT, metadata = {}} = body;
    if (JSON.stringify(metadata).length > SESSION_METADATA_CHARS_MAX) {
      throw invalid(`metadata must have at most ${SESSION_METADATA_CHARS_MAX} characters as JSON`);
    }
    if (sandbox_id !== null) this.#sandboxes.requireRunning(sandbox_id);
    const created_at = Math.floor(this.#parts.clock());
    const record: SessionRecord = {
      id: newSessionId(tenant),
      tenant,
      sandbox_id,
      ttl_ms,
      metadata: metadata as Record<string, unknown>,
      state: 'open',
      created_at,
      last_used_at: created_at,
      expires_at: created_at + ttl_ms,
      ended_at: null,
    };
    let isStored = false;
    let forgotten: string[] = [];
    const answer = await write(writer => {
      if (this.#open.size >= SESSIONS_MAX) {
        throw rateLimited(`a tenant has at most ${SESSIONS_MAX} open sessions; close some`);
      }
      this.#records.store(writer, record);
      forgotten = removeOldest(this.#records, SESSIONS_KEPT);
      isStored = true;
      return record;
    });
    if (isStored) {
      this.#records.forgot(forgotten);
      this.#records.took(record);
      this.#open.set(record.id, 0);
      this.#parts.changed();
    }
    return answer;
  }

  /** @throws op.not_found 404, op.conflict 409 when it is not open, and those of an execution in its sandbox */
  async execute(id: string, body: ExecuteBody): Promise<string> {
    const {sandbox_id} = this.#requireOpen(id);
    this.#open.set(id, this.#open.get(id)! + 1);
    try {
      return await this.#sandboxes.execute(sandbox_id ?? (await this.#ownSandbox(id)), body);
    } finally {
      this.#used(id);
    }
  }

  /**
   * Ends it and its own sandbox; an ended session stays as it is.
   * @throws op.not_found 404, or the error of the write
   */
  async close(id: string): Promise<SessionRecord> {
    if (this.get(id).state === 'open') {
      const {closed, sandbox} = await this.#parts.groups.perform(writer => this.#storeClosed(writer, id));
      if (closed !== null) this.#take(closed);
      if (sandbox !== null) this.#sandboxes.stopped(sandbox);
    }
    return this.#records.get(id);
  }

  /** Ends sessions whose lease has expired. */
  expire(): void {
    const nowMs = this.#parts.clock();
    for (const [id, executions] of [...this.#open]) {
      if (executions > 0 || this.#records.get(id).expires_at > nowMs) continue;
      const record = this.#records.get(id);
      this.#take(this.#ended(record, 'expired'));
      this.#write(id);
      const own = this.#ownOf(record);
      if (own !== null) this.#sandboxes.release(own);
    }
  }

  #requireOpen(id: string): SessionRecord {
    const record = this.get(id);
    if (record.state === 'open') return record;
    throw conflict(`the session ${record.id} is ${record.state}; open another one`, {state: record.state});
  }

  /** The first execution creates it; concurrent ones share that. */
  #ownSandbox(id: string): Promise<string> {
    const made = this.#records.get(id).sandbox_id;
    if (made !== null) return Promise.resolve(made);
    const making = this.#making.get(id) ?? this.#makeSandbox(id).finally(() => this.#making.delete(id));
    this.#making.set(id, making);
    return making;
  }

  async #makeSandbox(id: string): Promise<string> {
    const sandbox = await this.#sandboxes.create({ttl_ms: SANDBOX_TTL_MS_MAX}, id, store =>
      this.#parts.groups.perform(writer => {
        const record = this.#requireOpen(id); // it may have been closed meanwhile
        const made = store(writer);
        this.#records.store(writer, {...record, sandbox_id: made.id});
        return made;
      }),
    );
    const record = this.#records.get(id);
    this.#records.took({...record, sandbox_id: sandbox.id});
    // The session was closed during that write, so its sandbox ends with it.
    if (record.state !== 'open') {
      this.#sandboxes.release(sandbox.id);
      this.#write(id);
    }
    return sandbox.id;
  }

  /** An execution is over. */
  #used(id: string): void {
    const executions = this.#open.get(id);
    if (executions === undefined) return;
    this.#open.set(id, executions - 1);
    const record = this.#records.get(id);
    const nowMs = Math.floor(this.#parts.clock());
    this.#records.took({...record, last_used_at: nowMs, expires_at: nowMs + record.ttl_ms});
    this.#write(id);
    this.#parts.changed();
  }

  /** Writes its then current record, once for all changes until then. */
  #write(id: string): void {
    if (this.#unwritten.has(id)) return;
    this.#unwritten.add(id);
    void this.#parts.background.perform('a session', writer => {
      this.#unwritten.delete(id);
      this.#records.store(writer, this.#records.get(id));
    });
  }

  /** `closed` is null: it had ended already. */
  #storeClosed(writer: Writer, id: string): {closed: SessionRecord | null; sandbox: SandboxRecord | null} {
    const record = this.#records.get(id);
    if (record.state !== 'open') return {closed: null, sandbox: null};
    const closed = this.#ended(record, 'closed');
    this.#records.store(writer, closed);
    const own = this.#ownOf(record);
    return {closed, sandbox: own === null ? null : this.#sandboxes.storeStopped(writer, own)};
  }

  /** @param ended its new record */
  #take(ended: SessionRecord): void {
    const {id} = ended;
    if (this.#records.get(id).state !== 'open') return;
    this.#records.took(ended);
    this.#open.delete(id);
    this.#parts.changed();
  }

  #ended(record: SessionRecord, state: 'closed' | 'expired'): SessionRecord {
    return {...record, state, ended_at: Math.floor(this.#parts.clock())};
  }

  /** The sandbox that the session created; null: none, or it belongs to others. */
  #ownOf({id, sandbox_id}: SessionRecord): string | null {
    return sandbox_id !== null && this.#sandboxes.isOf(sandbox_id, id) ? sandbox_id : null;
  }
}
