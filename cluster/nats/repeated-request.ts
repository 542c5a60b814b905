/**
 * A request that is sent again while it has no answer. A stream without a leader says nothing, and a request that arrived
 * before its election is never answered. The first answer of all counts.
 */
export type RepeatedRequest<T> = {
  /** Called once for each time that it is sent. */
  readonly send: () => Promise<T>;
  readonly everyMs: number;
  /** Receives each further answer. */
  readonly unused?: (answer: T) => void;
};

/** Rejects when the first one fails, which has a time limit of its own. */
export function repeatedRequest<T>({send, everyMs, unused = () => {}}: RepeatedRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const answered = (answer: T) => {
      if (isOver) unused(answer);
      else resolve(answer);
      over();
    };
    const over = () => {
      isOver = true;
      clearInterval(again);
    };
    const again = setInterval(() => void send().then(answered, () => undefined), everyMs);
    send().then(answered, error => {
      reject(error);
      over();
    });
  });
}
