/**
 * One request under way, and its response on the wire. The status comes from the operation for a success and from the
 * code for an error; CORS headers are added for operations that pages of other origins can call. Handlers need to know
 * none of this.
 */
import type {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {assert} from '../../shared/assert.ts';
import {overloaded, type ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {traitsOf} from '../../shared/operations.ts';
import type {Request} from './decode.ts';
import {BOOTSTRAPS_MAX} from './limits.ts';
import type {RouterLink} from './router-link.ts';
import type {KeptResult} from './shared-results.ts';

/** Determines which headers let a page read a response. */
export interface CrossOrigin {
  headersOf(request: Request): HeaderList | null;
}

export class PendingRequest {
  readonly request: Request;
  readonly #link: RouterLink;
  readonly #stream: number;
  readonly #origins: CrossOrigin;

  constructor(link: RouterLink, stream: number, request: Request, origins: CrossOrigin) {
    this.request = request;
    this.#link = link;
    this.#stream = stream;
    this.#origins = origins;
  }

  /**
   * Responds with JSON, or with nothing if it is empty. Ownership of bytes passes to the callee.
   * @param variant kind of success, for operations with several
   * @param etag entity tag of the result; empty: none
   * @param doc number of the document that is the result; null: none
   * @param kept the result of a query function that the answer repeats; null: none
   */
  succeed(
    json: string | Buffer,
    variant: string | null = null,
    etag = '',
    doc: number | null = null,
    kept: KeptResult | null = null,
  ): void {
    const status = this.#status(variant);
    if (typeof json === 'string') {
      const headers = this.#origins.headersOf(this.request);
      if (kept !== null && this.#link.replyCacheable(this.#stream, json, headers, kept)) return;
      const isCacheable = doc !== null && this.request.isForCache && this.#link.mayCache(doc);
      this.#link.reply(this.#stream, status, json, headers, etag, isCacheable);
      return;
    }
    assert(status === 200, 'what answers bytes answers 200');
    this.#link.replyBytes(this.#stream, json);
  }

  fail(error: ServiceError): void {
    this.#link.fail(this.#stream, error, this.#origins.headersOf(this.request));
  }

  /** Responds with exactly these headers. */
  whole(headers: HeaderList, body: string | Buffer): void {
    this.#link.replyWith(this.#stream, this.#status(null), headers, body);
  }

  /** Responds with these headers and a body that is written later. */
  start(headers: HeaderList): OutgoingBody {
    return this.#link.startStream(this.#stream, this.#status(null), headers);
  }

  /** As `start`, for an app's response, which has its own status. */
  respond(status: number, headers: HeaderList): OutgoingBody {
    return this.#link.startStream(this.#stream, status, headers);
  }

  /**
   * Responds with a body that is generated while it is sent, JSON unless headers say otherwise.
   * @throws session.overloaded 503 when too many are under way
   */
  chunks(make: () => Iterator<string, void, void>, headers: HeaderList = []): void {
    if (this.#link.streams >= BOOTSTRAPS_MAX) {
      throw overloaded(`${BOOTSTRAPS_MAX} bootstraps and exports are under way; try again later`);
    }
    this.#link.stream(this.#stream, make(), headers);
  }

  /** @param giveUp called if the client or the router disconnects before `settled` */
  onCancel(giveUp: () => void): void {
    this.#link.onCancel(this.#stream, giveUp);
  }

  settled(): void {
    this.#link.forget(this.#stream);
  }

  #status(variant: string | null): number {
    const {success, variants} = traitsOf(this.request.op);
    if (variant === null) return success;
    const status = variants?.[variant];
    assert(status !== undefined, `${this.request.op} has a success ${variant}`);
    return status;
  }
}
