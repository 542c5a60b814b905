/**
 * Requests between the cluster processes of hosts, through NATS and not stored: each host answers those of its subject. They
 * decide nothing about a log, so one that gets no answer costs its sender only the time that it waited.
 */
import {randomBytes} from 'node:crypto';
import {errors, type NatsConnection} from '@nats-io/transport-node';
import {EngineError} from '../log/log-engine.ts';
import type {Subjects} from '../log/subjects.ts';

/** @returns null: the host does not run, or does not answer in time. @throws EngineError: a server refuses it */
export async function askHost(
  connection: NatsConnection,
  subjects: Subjects,
  {host, request, withinMs}: {host: string; request: unknown; withinMs: number},
): Promise<unknown> {
  try {
    const {data} = await connection.request(subjects.host(host), JSON.stringify(request), {
      timeout: withinMs,
      // Below the subjects of the cluster, which its hosts may publish to.
      noMux: true,
      reply: subjects.host(`answer.${randomBytes(16).toString('hex')}`),
    });
    return JSON.parse(Buffer.from(data).toString());
  } catch (error) {
    const refusal = [error, (error as Error).cause].find(found => found instanceof errors.PermissionViolationError);
    if (refusal !== undefined) throw new EngineError(refusal.message, {cause: error});
    return null;
  }
}

/**
 * Answers requests until the connection is closed. One that fails is answered by null, so that its sender does not wait.
 * @param answer of outside input: another version can have sent it
 */
export function answerHosts(
  connection: NatsConnection,
  subjects: Subjects,
  host: string,
  answer: (request: unknown) => Promise<unknown>,
): void {
  connection.subscribe(subjects.host(host), {
    callback: (error, message) => {
      if (error !== null) return; // the start check has found that it is allowed
      void answered(message.data, answer).then(text => message.respond(text));
    },
  });
}

async function answered(data: Uint8Array, answer: (request: unknown) => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await answer(JSON.parse(Buffer.from(data).toString())));
  } catch {
    return 'null';
  }
}
