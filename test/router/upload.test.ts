/** An upload as the connection sees it. */
import type {HttpResponse} from 'uWebSockets.js';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {Upload} from '../../router/http/upload.ts';
import {UPLOAD_AWAKE_MS} from '../../router/limits.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const sink = {chunk: () => undefined, end: () => undefined};

/** An upload whose worker has been sent a window of it, and one byte more: its connection is paused. */
function pausedUpload(): {upload: Upload; calls: string[]} {
  const calls: string[] = [];
  const res = {pause: () => calls.push('pause'), resume: () => calls.push('resume')};
  const upload = new Upload(res as unknown as HttpResponse);
  upload.attach(sink);
  upload.push(Buffer.alloc(STREAM_WINDOW_BYTES), false);
  upload.push(Buffer.alloc(1), false);
  return {upload, calls};
}

test('a body that was paused and is whole keeps its connection from being idle until its answer', () => {
  const {upload, calls} = pausedUpload();
  upload.push(Buffer.alloc(1), true);
  expect(calls).toEqual(['pause', 'resume']);
  vi.advanceTimersByTime(2 * UPLOAD_AWAKE_MS);
  upload.credit(STREAM_WINDOW_BYTES); // all of it is with the worker
  vi.advanceTimersByTime(UPLOAD_AWAKE_MS);
  expect(calls).toEqual(Array(4).fill(['pause', 'resume']).flat());
  upload.over();
  vi.advanceTimersByTime(2 * UPLOAD_AWAKE_MS);
  expect(calls).toHaveLength(8);
});

test('a connection that is held back for long is not taken for an idle one', () => {
  const {upload, calls} = pausedUpload();
  vi.advanceTimersByTime(2 * UPLOAD_AWAKE_MS);
  expect(calls).toEqual(['pause', 'resume', 'pause', 'resume', 'pause']);
  upload.credit(STREAM_WINDOW_BYTES);
  vi.advanceTimersByTime(2 * UPLOAD_AWAKE_MS);
  expect(calls.slice(5)).toEqual(['resume']); // a client that sends nothing is idle
  upload.over();
});

test('a connection whose client has gone is not touched again', () => {
  const {upload, calls} = pausedUpload();
  upload.push(Buffer.alloc(1), true);
  upload.fail();
  vi.advanceTimersByTime(2 * UPLOAD_AWAKE_MS);
  expect(calls).toEqual(['pause', 'resume']);
});
