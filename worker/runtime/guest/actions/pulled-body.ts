/** A body that the host has: each chunk is requested when it is read. */
import {asyncCall} from './async-call.ts';

/** @param operation answers with the next chunk, or without one at the end. @param onCancel the reader stops reading */
export function pulledBody(
  operation: 'fetchBody' | 'httpBody',
  parameters: object,
  onCancel: () => void,
  signal?: AbortSignal,
): ReadableStream<Uint8Array> {
  let ended = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        signal?.addEventListener('abort', () => {
          if (!ended) controller.error(signal.reason);
          ended = true;
        });
      },
      async pull(controller) {
        const {bytes} = await asyncCall(operation, parameters);
        if (ended) return;
        if (bytes !== null) return controller.enqueue(bytes);
        ended = true;
        controller.close();
      },
      cancel() {
        ended = true;
        onCancel();
      },
    },
    {highWaterMark: 0},
  );
}
