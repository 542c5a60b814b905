/**
 * The streams of a cluster, and the settings without which they lose or forget records. A stream with other settings is
 * refused, and never changed: an operator made it, or another program.
 */
import type {StreamName} from '../log/log-engine.ts';
import type {Subjects} from '../log/subjects.ts';

/** Settings of a stream, by their names in JetStream, as a server reports them. */
export type StreamConfig = Readonly<Record<string, unknown>>;

/** Copies of each stream, so that one server can be lost. */
export const REPLICAS_LEAST = 3;

export function streamNameOf(subjects: Subjects, stream: StreamName): string {
  const kind = stream.kind === 'log' ? `log_${stream.shard}` : stream.kind;
  return `${streamPrefixOf(subjects)}${kind}`;
}

/** All streams of the cluster begin with it, and no others. */
export function streamPrefixOf({cluster}: Subjects): string {
  return `svc_${cluster}_`;
}

export function streamSettings(subjects: Subjects, stream: StreamName, replicas: number) {
  return {
    name: streamNameOf(subjects, stream),
    subjects: [`${subjects.prefix(stream)}>`],
    storage: 'file',
    retention: 'limits',
    num_replicas: replicas,
    discard: 'new',
    max_age: 0,
    max_bytes: -1,
    max_msgs: -1,
    max_msgs_per_subject: stream.kind === 'records' ? 1 : -1,
    deny_delete: true,
    deny_purge: false,
    allow_direct: false,
  } as const;
}

type Setting = keyof ReturnType<typeof streamSettings>;

/** Each copy of a stream judges by itself whether a record fits, and learns of a new limit at another record than the others. */
const COPIES_DIFFER = 'its copies would differ once the limit is reached or changed, and lose acknowledged records';

/** Why a stream with another value loses or forgets records. */
const REASONS: Record<Setting, string> = {
  name: 'its name is that of another stream',
  subjects: 'other messages would be between the records',
  storage: 'records have to be on disk',
  retention: 'records would be removed once they were read',
  num_replicas: `records are lost with a server unless there are ${REPLICAS_LEAST} copies; a cluster of one server for development needs --allow-single-log`,
  discard: 'a full stream would remove its oldest records',
  max_age: 'old records would be removed, and an emptied log accepts a first record again',
  max_bytes: COPIES_DIFFER,
  max_msgs: COPIES_DIFFER,
  max_msgs_per_subject: 'a log keeps all its records, and a small record only its newest value',
  deny_delete: 'single records could be removed',
  deny_purge: 'logs could not be trimmed',
  allow_direct: 'reads from any server would be stale more often',
};

/** What an operator can set: where a stream is. The rest is what servers set themselves. */
const FREE = new Set(['description', 'metadata', 'placement', 'compression', 'duplicate_window', 'consumer_limits']);

/** One sentence, or null: the stream is as it has to be. */
export function streamFault(found: StreamConfig, expected: ReturnType<typeof streamSettings>): string | null {
  for (const setting of Object.keys(REASONS) as Setting[]) {
    const is = found[setting] ?? (typeof expected[setting] === 'boolean' ? false : undefined);
    const isRight =
      setting === 'num_replicas'
        ? Number(is) >= expected.num_replicas
        : JSON.stringify(is) === JSON.stringify(expected[setting]);
    if (isRight) continue;
    const [has, needs] = [is, expected[setting]].map(value => JSON.stringify(value) ?? 'nothing');
    return `the stream ${expected.name} has ${setting} ${has} and needs ${needs}: ${REASONS[setting]}.`;
  }
  const other = Object.entries(found).find(
    ([setting, value]) => !(setting in REASONS) && !FREE.has(setting) && !isUnset(value),
  );
  if (other === undefined) return null;
  const [setting, value] = other;
  return `the stream ${expected.name} has ${setting} ${JSON.stringify(value)}, which svc does not set: it was made or changed by someone else.`;
}

/** As servers report a setting that a stream does not have. */
function isUnset(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return !value || value === -1 || value === 'default';
}
