/** Files that are input from outside, hashed up to a number of bytes. */
import {createHash} from 'node:crypto';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {readAt} from '../../engine/copies/bytes.ts';
import type {OpenFile} from '../../shared/outside-files.ts';
import {STREAM_CHUNK_BYTES} from '../limits.ts';

/** In parts, between which the process does other things. */
export async function digestInTurns({fd, bytes}: OpenFile, algorithm: 'sha256' | 'sha512'): Promise<string> {
  const sum = createHash(algorithm);
  for (let at = 0; at < bytes; at += STREAM_CHUNK_BYTES) {
    sum.update(readAt(fd, at, Math.min(STREAM_CHUNK_BYTES, bytes - at)));
    await nextTurn();
  }
  return sum.digest('hex');
}
