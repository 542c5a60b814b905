/**
 * A store in a bucket of an S3-compatible server. Credentials come from the environment variables and files that the
 * SDK reads, and from nowhere else.
 *
 *   s3://bucket/prefix?endpoint=https://host&region=eu-1&path_style=true&checksums=off
 *
 * The module is loaded when a URL begins with `s3:`, so a host without such a repository loads no SDK.
 */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import {assert} from '../../shared/assert.ts';
import {
  OBJECT_BYTES_MAX,
  S3_ATTEMPTS_MAX,
  S3_CONNECT_MS,
  S3_PART_BYTES,
  S3_PARTS_MAX,
  S3_REMOVALS_AT_ONCE,
  S3_REQUEST_MS,
  S3_SLOW_BYTES_PER_MS,
} from '../limits.ts';
import {inBatches} from './batches.ts';
import {type ByteRange, isObjectName, type ObjectInfo, type ObjectStore} from './object-store.ts';
import {StoreError, StoreUrlError} from './store-error.ts';

type Location = {bucket: string /** Empty, or ends with `/`. */; prefix: string};

const OPTIONS = ['endpoint', 'region', 'path_style', 'checksums'];

export class S3Store implements ObjectStore {
  readonly url: string;
  readonly #client: S3Client;
  readonly #at: Location;

  /** @throws StoreUrlError */
  constructor(url: URL) {
    this.url = url.href;
    this.#at = locationOf(url);
    const endpoint = url.searchParams.get('endpoint');
    const region = url.searchParams.get('region');
    const checksums = url.searchParams.get('checksums') === 'off' ? 'WHEN_REQUIRED' : 'WHEN_SUPPORTED';
    this.#client = new S3Client({
      ...(endpoint === null ? {} : {endpoint}),
      // A server of its own seldom has regions, and the SDK requires one.
      ...(region !== null ? {region} : endpoint === null ? {} : {region: process.env.AWS_REGION ?? 'us-east-1'}),
      forcePathStyle: url.searchParams.get('path_style') === 'true',
      requestChecksumCalculation: checksums,
      responseChecksumValidation: checksums,
      maxAttempts: S3_ATTEMPTS_MAX,
      requestHandler: {connectionTimeout: S3_CONNECT_MS},
    });
  }

  /** The bucket has to exist. */
  async prepare(): Promise<void> {}

  async put(name: string, bytes: Buffer, options?: {ifAbsent?: boolean}): Promise<void> {
    const of = {...this.#keyOf(name), Body: bytes, ContentLength: bytes.length};
    const condition = options?.ifAbsent === true ? {IfNoneMatch: '*'} : {};
    const abortSignal = limitOf(bytes.length);
    await guarded(() => this.#client.send(new PutObjectCommand({...of, ...condition}), {abortSignal}));
  }

  async putStream(name: string, parts: AsyncIterable<Buffer>): Promise<void> {
    const chunks: AsyncIterator<Buffer, void, undefined> = inParts(parts)[Symbol.asyncIterator]();
    const first = await chunks.next();
    let next = await chunks.next();
    if (next.done === true) return this.put(name, first.done === true ? Buffer.alloc(0) : first.value);
    const upload = await guarded(() =>
      this.#client.send(new CreateMultipartUploadCommand(this.#keyOf(name)), {abortSignal: limitOf(0)}),
    );
    const of = {...this.#keyOf(name), UploadId: upload.UploadId};
    try {
      const stored: {PartNumber: number; ETag: string | undefined}[] = [];
      const store = async (bytes: Buffer): Promise<void> => {
        const PartNumber = stored.length + 1;
        if (PartNumber > S3_PARTS_MAX)
          throw new StoreError('refused', `${name} has more bytes than an object can have`);
        const part = new UploadPartCommand({...of, PartNumber, Body: bytes, ContentLength: bytes.length});
        const {ETag} = await guarded(() => this.#client.send(part, {abortSignal: limitOf(bytes.length)}));
        stored.push({PartNumber, ETag});
      };
      await store(first.value!);
      for (; next.done !== true; next = await chunks.next()) await store(next.value);
      const complete = new CompleteMultipartUploadCommand({...of, MultipartUpload: {Parts: stored}});
      await guarded(() => this.#client.send(complete, {abortSignal: limitOf(0)}));
    } catch (caught) {
      await chunks.return?.();
      await guarded(() => this.#client.send(new AbortMultipartUploadCommand(of), {abortSignal: limitOf(0)})).catch(
        ifStoreError,
      );
      throw caught;
    }
  }

  async get(name: string, range?: ByteRange): Promise<Buffer | null> {
    const abort = new AbortController();
    const found = await this.#found(name, range, abort);
    if (found === null || found === 'empty') return found === null ? null : Buffer.alloc(0);
    const length = found.ContentLength ?? 0;
    if (length > OBJECT_BYTES_MAX) {
      abort.abort();
      throw new StoreError('unavailable', `${name} has ${length} bytes to read at once`);
    }
    const parts: Buffer[] = [];
    for await (const part of partsOf(found, abort)) parts.push(part);
    return Buffer.concat(parts);
  }

  async stream(name: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null> {
    const abort = new AbortController();
    const found = await this.#found(name, range, abort);
    if (found === null) return null;
    return found === 'empty' ? partsOf(null, abort) : partsOf(found, abort);
  }

  async list(prefix: string, {after, most}: {after?: string; most: number}): Promise<ObjectInfo[]> {
    const found: ObjectInfo[] = [];
    // The first version of the request: it goes on behind a name, and not where a token of the server says.
    const of = {Bucket: this.#at.bucket, Prefix: `${this.#at.prefix}${prefix}`};
    for (let last = after; ; ) {
      const start = last === undefined ? {} : {Marker: `${this.#at.prefix}${last}`};
      const page = new ListObjectsCommand({...of, ...start, MaxKeys: most - found.length});
      const {Contents, IsTruncated} = await guarded(() => this.#client.send(page, {abortSignal: limitOf(0)}));
      for (const {Key, Size, LastModified} of Contents ?? []) {
        const name = Key!.slice(this.#at.prefix.length);
        found.push({name, bytes: Size ?? 0, modifiedMs: LastModified?.getTime() ?? 0});
      }
      last = found.at(-1)?.name;
      if (IsTruncated !== true || found.length >= most || (Contents ?? []).length === 0) return found;
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    // One by one: not every server has the request for many.
    await inBatches(names, S3_REMOVALS_AT_ONCE, name =>
      guarded(() => this.#client.send(new DeleteObjectCommand(this.#keyOf(name)), {abortSignal: limitOf(0)})).catch(
        unlessMissing,
      ),
    );
  }

  /** Uploads in parts that were not completed: their parts cost space. */
  async removeLeftovers(beforeMs: number): Promise<void> {
    const {bucket: Bucket, prefix: Prefix} = this.#at;
    const request = new ListMultipartUploadsCommand({Bucket, Prefix});
    // A server without the request has its own way, or none.
    const found = await guarded(() => this.#client.send(request, {abortSignal: limitOf(0)})).catch(ifStoreError);
    for (const {Key, UploadId, Initiated} of found?.Uploads ?? []) {
      if (Initiated === undefined || Initiated.getTime() >= beforeMs) continue;
      const abort = new AbortMultipartUploadCommand({Bucket, Key, UploadId});
      await guarded(() => this.#client.send(abort, {abortSignal: limitOf(0)}));
    }
  }

  close(): void {
    this.#client.destroy();
  }

  #keyOf(name: string): {Bucket: string; Key: string} {
    assert(isObjectName(name), `${name} is the name of an object`);
    return {Bucket: this.#at.bucket, Key: `${this.#at.prefix}${name}`};
  }

  /** Null: there is no such object. `empty`: the range is behind its end. */
  async #found(
    name: string,
    range: ByteRange | undefined,
    abort: AbortController,
  ): Promise<GetObjectCommandOutput | 'empty' | null> {
    if (range?.length === 0) return 'empty';
    const bytes = range === undefined ? {} : {Range: `bytes=${range.at}-${range.at + range.length - 1}`};
    const timer = setTimeout(() => abort.abort(timedOut()), S3_REQUEST_MS);
    try {
      const command = new GetObjectCommand({...this.#keyOf(name), ...bytes});
      return await this.#client.send(command, {abortSignal: abort.signal});
    } catch (caught) {
      if (isMissing(caught)) return null;
      if (statusOf(caught) === 416) return 'empty';
      throw storeErrorOf(caught);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** @throws StoreUrlError */
function locationOf(url: URL): Location {
  const unknown = [...url.searchParams.keys()].find(name => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new StoreUrlError(`a URL of S3 has the settings ${OPTIONS.join(', ')}, and not ${unknown}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new StoreUrlError('a URL has no credentials: put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  const bucket = url.hostname;
  const path = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  if (bucket === '') throw new StoreUrlError('a URL of S3 is s3://bucket/prefix');
  if (path !== '' && !isObjectName(path)) {
    throw new StoreUrlError('a prefix has letters, digits, ., _, - and / only');
  }
  return {bucket, prefix: path === '' ? '' : `${path}/`};
}

/** In chunks that are the parts of an upload; only the last one is smaller. */
async function* inParts(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const part of parts) {
    waiting.push(part);
    bytes += part.length;
    if (bytes < S3_PART_BYTES) continue;
    const whole = Buffer.concat(waiting);
    yield whole.subarray(0, S3_PART_BYTES);
    waiting = [whole.subarray(S3_PART_BYTES)];
    bytes -= S3_PART_BYTES;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

/** The body, of which no chunk may take longer than a request. */
async function* partsOf(
  found: GetObjectCommandOutput | null,
  abort: AbortController,
): AsyncGenerator<Buffer, void, undefined> {
  if (found?.Body === undefined) return;
  const body = found.Body as unknown as AsyncIterable<Buffer>;
  let timer: NodeJS.Timeout | undefined;
  const watch = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(timedOut()), S3_REQUEST_MS);
  };
  let bytes = 0;
  try {
    watch();
    for await (const part of body) {
      watch();
      bytes += part.length;
      yield part;
    }
    if (found.ContentLength !== undefined && bytes !== found.ContentLength) {
      throw new StoreError('unavailable', `the answer ended after ${bytes} of ${found.ContentLength} bytes`);
    }
  } catch (caught) {
    throw storeErrorOf(abort.signal.aborted ? abort.signal.reason : caught);
  } finally {
    clearTimeout(timer);
    abort.abort(); // a reader that stops early takes no more of it
  }
}

async function guarded<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (caught) {
    throw storeErrorOf(caught);
  }
}

type SdkError = Error & {$metadata?: {httpStatusCode?: number}; code?: string};

function statusOf(caught: unknown): number | undefined {
  return (caught as SdkError).$metadata?.httpStatusCode;
}

function isMissing(caught: unknown): boolean {
  const {name} = caught as SdkError;
  return name === 'NoSuchKey' || name === 'NotFound' || (statusOf(caught) === 404 && name !== 'NoSuchBucket');
}

/** Errors of the SDK have a status or a name; an error of the stream that was being stored is passed on. */
function storeErrorOf(caught: unknown): unknown {
  if (caught instanceof StoreError) return caught;
  const {name, message, code} = caught as SdkError;
  const status = statusOf(caught);
  const options = {cause: caught};
  const text = `${name}: ${message}`;
  if (name === 'TimeoutError' || name === 'AbortError') return new StoreError('timeout', text, options);
  if (status === 412 || name === 'ConditionalRequestConflict') return new StoreError('exists', text, options);
  if (status === 401 || status === 403 || name === 'CredentialsProviderError') {
    return new StoreError('refused', text, options);
  }
  if (status === 507 || /Quota|StorageFull/i.test(name)) return new StoreError('no_space', text, options);
  if (status === undefined && code === undefined && !isOfSdk(caught)) return caught;
  return new StoreError('unavailable', text, options);
}

/** An answer that is not one of S3 has neither status nor code. */
function isOfSdk(caught: unknown): boolean {
  return (caught as SdkError).$metadata !== undefined || (caught as Error).name !== 'Error';
}

function limitOf(bytes: number): AbortSignal {
  return AbortSignal.timeout(S3_REQUEST_MS + Math.ceil(bytes / S3_SLOW_BYTES_PER_MS));
}

function timedOut(): StoreError {
  return new StoreError('timeout', `no answer for ${S3_REQUEST_MS / 1000} s`);
}

function ifStoreError(caught: unknown): undefined {
  if (!(caught instanceof StoreError)) throw caught;
}

function unlessMissing(caught: unknown): void {
  if (!(caught instanceof StoreError && isMissing(caught.cause))) throw caught;
}
