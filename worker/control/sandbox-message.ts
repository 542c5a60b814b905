/** What a worker and the process of its sandboxes say to each other, over the channel Node gives a spawned process. */
import type {EgressDoor} from '../../shared/ipc/egress.ts';
import type {ExecutionFault} from '../../shared/protocol/sandboxes.ts';

export type ExecutionRequest = {
  code: string;
  /** JSON. */
  args: string;
  timeoutMs: number;
  cpuMs: number;
  env: Readonly<Record<string, string>>;
  /** Null: no network. */
  egress: EgressDoor | null;
};

type Ended = {
  lines: string[];
  durationMs: number;
  /** Why the sandbox is of no further use; null: it goes on. */
  broken: string | null;
};
export type ExecutionResult =
  /** `value`: wire text. */
  | (Ended & {ok: true; value: string})
  | (Ended & {ok: false; reason: ExecutionFault; name: string; message: string; stack: string | null});

export type ToHost =
  /** Answered by `opened`. */
  | {type: 'open'; sandbox: string; memoryMb: number}
  /** One at a time of a sandbox. Answered by `executed`. */
  | {type: 'execute'; sandbox: string; execution: number; request: ExecutionRequest}
  /** Whatever it does: it is gone. */
  | {type: 'close'; sandbox: string}
  /** Memory is short: the sandbox that takes most is ended, and told as `broken`. */
  | {type: 'shed'};

export type FromHost =
  | {type: 'opened'; sandbox: string}
  | {type: 'executed'; execution: number; result: ExecutionResult}
  | {type: 'broken'; sandbox: string; reason: string};
