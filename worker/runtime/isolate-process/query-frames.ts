/** Queries of one turn of the worker, sent to the process of the isolates as one frame. */
import {QUERY_FRAME_CHARS} from '../limits.ts';
import {ExecutionPacker, type PackedExecution} from '../queries/packed-executions.ts';
import type {QuerySlot, ToIsolates} from './isolate-message.ts';

export class QueryFrames {
  readonly #send: (message: ToIsolates, tail: string) => void;
  readonly #packer = new ExecutionPacker();
  #slots: QuerySlot[] = [];

  constructor(send: (message: ToIsolates, tail: string) => void) {
    this.#send = send;
  }

  add(slot: QuerySlot, execution: PackedExecution): void {
    if (this.#packer.argumentChars + execution.args.length > QUERY_FRAME_CHARS) this.flush();
    if (this.#packer.isEmpty) process.nextTick(() => this.flush());
    this.#packer.add(execution);
    this.#slots.push(slot);
  }

  /** Sends those that have been added. */
  flush(): void {
    if (this.#packer.isEmpty) return;
    const {functions, calls, args} = this.#packer.take();
    const slots = this.#slots;
    this.#slots = [];
    this.#send({type: 'queries', slots, functions, calls}, args);
  }
}
