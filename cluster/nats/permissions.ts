/**
 * What the NATS user of a host has to be allowed, and the check that it is. Changing and deleting a stream, removing
 * single messages and removing a server from a stream are not among it.
 */
import {errors, headers, type NatsConnection} from '@nats-io/transport-node';
import {NATS_REQUEST_MS} from '../limits.ts';
import type {StreamName} from '../log/log-engine.ts';
import type {Subjects} from '../log/subjects.ts';
import {NatsRefusal} from './nats-refusal.ts';
import {streamNameOf} from './stream-settings.ts';

/** As the `permissions` of a user in the configuration of a server. */
export function permissionsOf(subjects: Subjects): {publish: string[]; subscribe: string[]} {
  return {
    publish: [
      `svc.${subjects.cluster}.>`,
      '$JS.API.STREAM.INFO.*',
      '$JS.API.STREAM.CREATE.*',
      '$JS.API.STREAM.PURGE.*',
      '$JS.API.STREAM.MSG.GET.*',
      '$JS.API.CONSUMER.CREATE.>',
      '$JS.API.CONSUMER.INFO.>',
      '$JS.API.CONSUMER.DELETE.>',
      '$JS.API.CONSUMER.MSG.NEXT.>',
    ],
    subscribe: ['_INBOX.>', subjects.host('>')],
  };
}

type Probe = {
  readonly subject: string;
  readonly body: unknown;
  readonly header?: readonly [string, string];
  readonly reply?: string;
};

/** None of them changes anything: a message that expects another one that is not there, and requests about nothing. */
function probesOf(subjects: Subjects, stream: StreamName): Probe[] {
  const name = streamNameOf(subjects, stream);
  const subject = `${subjects.prefix(stream)}start-check`;
  const api = (verb: string, body: unknown): Probe => ({subject: `$JS.API.${verb}`, body});
  return [
    {subject, body: null, header: ['Nats-Expected-Last-Subject-Sequence', String(Number.MAX_SAFE_INTEGER)]},
    api(`STREAM.INFO.${name}`, {}),
    api(`STREAM.CREATE.${name}`, []),
    api(`STREAM.PURGE.${name}`, {filter: subject, seq: 1}),
    api(`STREAM.MSG.GET.${name}`, {last_by_subj: subject}),
    ...['CREATE', 'INFO', 'DELETE', 'MSG.NEXT'].map(verb => api(`CONSUMER.${verb}.${name}.start-check`, [])),
  ];
}

/**
 * A server refuses what it does not allow at once, so any other answer, and none too, means that it is allowed.
 * @throws NatsRefusal
 */
export async function checkPermissions(
  connection: NatsConnection,
  subjects: Subjects,
  streams: readonly StreamName[],
): Promise<void> {
  const ofHosts = {subject: subjects.host('start-check'), body: null, reply: subjects.host('answer.start-check')};
  const probes = [ofHosts, ...streams.flatMap(stream => probesOf(subjects, stream))];
  await Promise.all(probes.map(probe => checkAllowed(connection, probe)));
}

async function checkAllowed(connection: NatsConnection, {subject, body, header, reply}: Probe): Promise<void> {
  const fields = headers();
  if (header !== undefined) fields.set(...header);
  try {
    await connection.request(subject, JSON.stringify(body), {
      ...{timeout: NATS_REQUEST_MS, headers: fields},
      ...(reply === undefined ? {} : {noMux: true, reply}),
    });
  } catch (error) {
    const violation = [error, (error as Error).cause].find(found => found instanceof errors.PermissionViolationError);
    if (violation === undefined) return;
    const verb = violation.operation === 'publish' ? 'publish to' : 'subscribe to';
    throw new NatsRefusal(`the NATS user of this host is not allowed to ${verb} ${violation.subject}.`);
  }
}
