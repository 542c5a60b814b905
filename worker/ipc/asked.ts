/**
 * One request under way, and its answer on the wire: the status of a success is its operation's, that of an error its code's,
 * and what pages of other origins may read carries CORS headers. Whoever answers knows none of it.
 */
import type {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {traitsOf} from '../../shared/operations.ts';
import type {Request} from './decode.ts';
import {BOOTSTRAPS_MAX} from './limits.ts';
import type {RouterLink} from './router-link.ts';

/** Knows which headers an answer carries so that a page may read it. */
export interface CrossOrigin {
  headersOf(request: Request): HeaderList | null;
}

export class Asked {
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
   * Answers JSON, or nothing when it is empty. Bytes are taken over.
   * @param variant which kind of success it is, where the operation has several
   * @param etag of what is answered; empty: none
   */
  succeed(json: string | Buffer, variant: string | null = null, etag = ''): void {
    const status = this.#status(variant);
    if (typeof json === 'string') {
      this.#link.reply(this.#stream, status, json, this.#origins.headersOf(this.request), etag);
      return;
    }
    assert(status === 200, 'what answers bytes answers 200');
    this.#link.replyBytes(this.#stream, json);
  }

  fail(error: ServiceError): void {
    this.#link.fail(this.#stream, error, this.#origins.headersOf(this.request));
  }

  /** Answers with exactly these headers. */
  whole(headers: HeaderList, body: string | Buffer): void {
    this.#link.replyWith(this.#stream, this.#status(null), headers, body);
  }

  /** Answers with these headers and a body that is written later. */
  start(headers: HeaderList): OutgoingBody {
    return this.#link.startStream(this.#stream, this.#status(null), headers);
  }

  /** As `start`, what an app answers: its status is its own. */
  respond(status: number, headers: HeaderList): OutgoingBody {
    return this.#link.startStream(this.#stream, status, headers);
  }

  /** Answers JSON, or what headers say, that is made while it is sent. @throws session.overloaded 503 when too many are under way */
  pieces(make: () => Iterator<string, void, void>, headers: HeaderList = []): void {
    if (this.#link.streams >= BOOTSTRAPS_MAX) {
      throw new ServiceError(
        'session.overloaded',
        `${BOOTSTRAPS_MAX} bootstraps and exports are under way; try again later`,
      );
    }
    this.#link.stream(this.#stream, make(), headers);
  }

  /** @param giveUp called if the client, or the router, goes before `settled` */
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
