/** The buffer that all connections to workers, and to routers of other hosts, read into. */
import {Buffer} from 'node:buffer';
import type {OnReadOpts} from 'node:net';
import {assert} from '../../shared/assert.ts';
import {FRAME_CHUNK_BYTES} from '../../shared/limits.ts';
import {LARGE_REPLY_BYTES} from '../limits.ts';

/**
 * Connections share it one after the other, because frames are processed during the call. With a buffer per read, Node
 * allocates 64 KiB for a few hundred bytes, which burdens the garbage collector.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(FRAME_CHUNK_BYTES);
assert(
  FRAME_CHUNK_BYTES <= LARGE_REPLY_BYTES,
  'a reply that is kept until its client has taken it is in no such buffer',
);

/** @param received gets chunks that are valid during the call */
export function onRead(received: (chunk: Buffer) => void): OnReadOpts {
  return {
    buffer: READ_BUFFER,
    callback: bytes => {
      received(READ_BUFFER.subarray(0, bytes));
      return true;
    },
  };
}
