/** Streams of a link: their ids, and how much of one a worker can send. */
import {FRAME_CHUNK_BYTES, STREAM_WINDOW_BYTES} from '../../shared/limits.ts';

/** Ids are u32, in turn; 0 belongs to the hello. */
const STREAM_MAX = 0xffff_ffff;
/** Bytes that a worker can send beyond its credit: its window, and the chunk that overdraws it. */
export const STREAM_BUFFERED_BYTES_MAX = STREAM_WINDOW_BYTES + FRAME_CHUNK_BYTES;

/** @param order position of the request in its link, from 1 */
export function streamOf(order: number): number {
  return order % (STREAM_MAX + 1);
}
