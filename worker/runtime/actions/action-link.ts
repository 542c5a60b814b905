/** The calls of an action to the worker's main thread, and their handlers there. */
import type {Buffer} from 'node:buffer';
import {storageFailure} from '../../../engine/storage/database.ts';
import {AssertionError} from '../../../shared/assert.ts';
import type {Outcome} from '../execution.ts';
import type {ActionLines} from './action-lines.ts';
import {type ActionRequest, type HttpOperation, type MainOperation, refusal} from './action-message.ts';
import {UNAVAILABLE} from './action-outcome.ts';
import type {HttpExchange, HttpIncoming, HttpOutgoing} from './http-exchange.ts';

/** The main thread's interface for one action. */
export type ActionLink = {
  /**
   * @param parameters of `run*` JSON of {path, args: wire text}; of `schedule` JSON of {path, args, delayMs | runAtMs};
   * of `cancel` the job id
   * @returns a host answer: `+` and wire text (or the job's id), or `-` and JSON of {name, message}
   */
  call(operation: MainOperation, parameters: string): Promise<string>;
  /** Receives its console lines, each complete with its level. */
  lines: ActionLines;
};

/** Runs actions to their ends. */
export type ActionRunner = {
  /** @param signal cancels it */
  run(request: ActionRequest, link: ActionLink, signal?: AbortSignal): Promise<Outcome>;
};

export type HttpActionRunner = {
  /**
   * Runs an HTTP action until the last chunk of its response is written. The caller ends the response: with a 500 if
   * the outcome is a failure and `start` was not called, otherwise by cutting it short.
   */
  runHttp(
    request: ActionRequest,
    link: ActionLink,
    incoming: HttpIncoming | null,
    outgoing: HttpOutgoing,
    signal?: AbortSignal,
  ): Promise<Outcome>;
};

export type ActionAnswer = {answer: string; bytes: Uint8Array | Buffer | null};

/** The main thread's handlers for the messages of one action. */
export type ActionAnswers = {
  answer(operation: MainOperation | HttpOperation, parameters: string, bytes: Uint8Array | null): Promise<ActionAnswer>;
  log(line: string): void;
};

/** @param exchange null: not an HTTP action */
export function answersOf({call, lines}: ActionLink, exchange: HttpExchange | null): ActionAnswers {
  return {
    log: line => lines.add(line),
    answer: async (operation, parameters, bytes) => {
      try {
        if (!isHttp(operation)) return {answer: await call(operation, parameters), bytes: null};
        if (exchange !== null) return await exchange.call(operation, parameters, bytes);
        return {answer: refusal('this is no HTTP action'), bytes: null};
      } catch (caught) {
        if (caught instanceof AssertionError || storageFailure(caught) === 'fatal') throw caught;
        return {answer: refusal(isHttp(operation) ? messageOf(caught) : UNAVAILABLE), bytes: null};
      }
    },
  };
}

function isHttp(operation: MainOperation | HttpOperation): operation is HttpOperation {
  return operation.startsWith('http');
}

function messageOf(caught: unknown): string {
  return caught instanceof Error ? caught.message : String(caught);
}
