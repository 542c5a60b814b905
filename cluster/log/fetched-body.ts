/** The body of a record as a page set reads it: in memory if it came in one message, otherwise in a file. */
import {type Source, sourceOf, sourceOfFile} from '../../engine/copies/bytes.ts';
import {DISK} from '../../engine/copies/disk.ts';
import type {LogRecord} from './tenant-log.ts';

/**
 * @param scratch path of a file that is there meanwhile, if the body has parts
 * @throws LogError, EngineError
 */
export async function withBody<T>(record: LogRecord, scratch: string, use: (body: Source) => T): Promise<T> {
  if (record.head.parts.length === 0) {
    const parts: Buffer[] = [];
    for await (const part of record.body()) parts.push(part);
    return use(sourceOf(Buffer.concat(parts)));
  }
  return withFetched(record.body(), scratch, use);
}

/** Bytes of any number: they pass through memory in parts. @throws what the parts throw */
export async function withFetched<T>(
  parts: AsyncIterable<Buffer>,
  scratch: string,
  use: (bytes: Source) => T | Promise<T>,
): Promise<T> {
  const fd = DISK.open(scratch, 'w+');
  try {
    for await (const part of parts) DISK.write(fd, part, null);
    return await use(sourceOfFile(fd));
  } finally {
    DISK.close(fd);
    DISK.remove(scratch);
  }
}
