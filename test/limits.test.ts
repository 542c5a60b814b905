/** Limits that rely on each other. */
import {expect, test} from 'vitest';
import {ROUTERS_MAX} from '../cli/limits.ts';
import {CURSOR_CHARS_MAX} from '../engine/limits.ts';
import {
  FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  FUNCTION_SOCKET_MESSAGE_BYTES_READ,
  FUNCTION_SOCKET_PING_MS,
  FUNCTION_SOCKET_POLL_MS,
  FUNCTION_SOCKET_UNHANDLED_BYTES_MAX,
  IN_FLIGHT_BYTES_MAX,
  READ_AGAIN_MS_MAX,
  TENANT_RESERVED_BYTES_MAX,
  UNSENT_REPLY_BYTES_MAX,
} from '../router/limits.ts';
import {
  CLIENT_ARGS_BYTES_MAX,
  CLIENT_FRAME_CHARS,
  CLIENT_QUERIES_MAX,
  CLIENT_SILENCE_MS,
} from '../shared/client-limits.ts';
import {
  BODY_BYTES_MAX,
  DOCUMENT_BYTES_MAX,
  FRAME_BODY_BYTES_MAX,
  FUNCTION_SOCKET_CREDIT_BYTES,
  HEARTBEAT_INTERVAL_MS,
  QUERIES_PER_SOCKET_MAX,
  RESULT_BYTES_MAX,
  ROUTER_DRAIN_MS,
} from '../shared/limits.ts';
import {
  DRAIN_MS,
  HEARTBEAT_TIMEOUT_MS,
  KILL_PAUSE_MS_MAX,
  KILLS_FORGOTTEN_MS,
  SILENCE_MS_MAX,
  STARTUP_TIMEOUT_MS,
} from '../supervisor/limits.ts';
import {SANDBOX_PROCESS_BYTES_MAX, SANDBOX_PROCESS_BYTES_SHED} from '../worker/control/limits.ts';
import {FUNCTION_SOCKET_WINDOW_BYTES, HTTP_UPLOADS_MAX} from '../worker/functions/limits.ts';
import {ACTIONS_MAX} from '../worker/runtime/limits.ts';

const KIB = 1024;

test.each([
  [
    'a frame holds any body and result',
    FRAME_BODY_BYTES_MAX > RESULT_BYTES_MAX && FRAME_BODY_BYTES_MAX > BODY_BYTES_MAX,
  ],
  ['a body holds any document', BODY_BYTES_MAX > DOCUMENT_BYTES_MAX],
  [
    "a router's share holds any request and any answer",
    Math.min(TENANT_RESERVED_BYTES_MAX, IN_FLIGHT_BYTES_MAX) / ROUTERS_MAX >= BODY_BYTES_MAX &&
      UNSENT_REPLY_BYTES_MAX / ROUTERS_MAX >= FRAME_BODY_BYTES_MAX,
  ],
  [
    'a socket may have a message of any size under way behind another',
    FUNCTION_SOCKET_UNHANDLED_BYTES_MAX > 2 * FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  ],
  [
    'a message holds any arguments that a client sends, and the path and numbers beside them',
    CLIENT_ARGS_BYTES_MAX + 16 * KIB <= FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  ],
  ['a message holds what clients say at once', 3 * CLIENT_FRAME_CHARS <= FUNCTION_SOCKET_MESSAGE_BYTES_MAX],
  ['what a client sends is taken', CLIENT_QUERIES_MAX <= QUERIES_PER_SOCKET_MAX],
  ['a ping may be lost', FUNCTION_SOCKET_PING_MS + FUNCTION_SOCKET_POLL_MS < CLIENT_SILENCE_MS / 2],
  ['a frame holds any message of a socket', FRAME_BODY_BYTES_MAX > FUNCTION_SOCKET_MESSAGE_BYTES_READ],
  ['a window is opened before it is used up', FUNCTION_SOCKET_WINDOW_BYTES > 2 * FUNCTION_SOCKET_CREDIT_BYTES],
  ['a drain has time left for the workers', ROUTER_DRAIN_MS < DRAIN_MS],
  ['a late heartbeat is not a death', HEARTBEAT_TIMEOUT_MS > 3 * HEARTBEAT_INTERVAL_MS],
  ['what is sent again is not what a worker hung on', READ_AGAIN_MS_MAX < HEARTBEAT_TIMEOUT_MS - HEARTBEAT_INTERVAL_MS],
  ['one sandbox goes before all do', SANDBOX_PROCESS_BYTES_SHED < SANDBOX_PROCESS_BYTES_MAX],
  ['slow senders leave places for others', HTTP_UPLOADS_MAX < ACTIONS_MAX],
  ['a starting process has no less time than a serving one', STARTUP_TIMEOUT_MS >= HEARTBEAT_TIMEOUT_MS],
  ['its own time is up before all time is', SILENCE_MS_MAX > STARTUP_TIMEOUT_MS],
  ['a pause between kills is not the end of them', KILLS_FORGOTTEN_MS > KILL_PAUSE_MS_MAX],
  ['a cursor holds any value of a document', CURSOR_CHARS_MAX > DOCUMENT_BYTES_MAX * 1.5],
])('%s', (_, holds) => {
  expect(holds).toBe(true);
});
