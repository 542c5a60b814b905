/** Points in time of a tenant's backup: which of them a typed time means, and what happened beside them. */
import type {AnswerOf} from '../../../shared/operation-types.ts';

export type BackupPoint = AnswerOf<'backup.points'>['points'][number];
type TenantBackup = AnswerOf<'backup.status'>['tenants'][number];

/** A line of the list: a commit, or a deployment or task between two. */
export type PointRow = {at: number; point: BackupPoint | null; note: string | null};
type Note = {at: number; text: string};

/** Newest first. @param notes those between the points are shown */
export function rowsOf(points: readonly BackupPoint[], notes: readonly Note[], isNewest: boolean): PointRow[] {
  const oldest = points.at(-1)?.at ?? Number.POSITIVE_INFINITY;
  const newest = isNewest ? Number.POSITIVE_INFINITY : (points[0]?.at ?? 0);
  const shown = notes.filter(({at}) => at >= oldest && at <= newest);
  const rows = [
    ...points.map((point): PointRow => ({at: point.at, point, note: null})),
    ...shown.map(({at, text}): PointRow => ({at, point: null, note: text})),
  ];
  // What a note names is in the commits of its time, so it stands below them.
  return rows.sort((a, b) => b.at - a.at || Number(a.point === null) - Number(b.point === null));
}

type Deployment = AnswerOf<'deployments.list'>['deployments'][number];
type Task = AnswerOf<'tasks.list'>['tasks'][number];

export function notesOf(deployments: readonly Deployment[], tasks: readonly Task[]): Note[] {
  return [
    ...deployments.flatMap(({id, activated_at: at, message}) =>
      at === null ? [] : [{at, text: `deployment ${id}${message === null ? '' : `: ${message}`}`}],
    ),
    ...tasks.map(({type, query, changed, created_at}) => ({
      at: created_at,
      text: `${type} in ${query.table}: ${changed === 1 ? '1 document' : `${changed} documents`}`,
    })),
  ];
}

/** What a dialog restores to. `point`: it was chosen from the list, and the time has not been changed since. */
export type Choice = {text: string; point: BackupPoint | null};

export function choiceOf({at, point}: PointRow): Choice {
  return point === null ? {text: localText(at - 1_000), point: null} : {text: localText(at), point};
}

/**
 * The end of the second that the text names, so that its commits are restored, epoch milliseconds. Null: the text is no
 * time.
 */
export function endOf(text: string): number | null {
  const ms = new Date(text).getTime();
  return Number.isFinite(ms) ? ms + 999 : null;
}

/** The local time as fields of the browser take it: `2026-11-23T17:05:09`. */
export function localText(ms: number): string {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
}

const LATE_INTERVALS = 10;
const LATE_MS_MIN = 60_000;

type Tone = 'neutral' | 'good' | 'warn' | 'bad';

/** How far the copy is behind the tenant. The page shows `behindMs` after the text, unless it is 0. */
export function stateOf(
  {newest, age_ms, fault}: TenantBackup,
  everyMs: number,
): {text: string; tone: Tone; behindMs: number} {
  if (fault !== null) return {text: `stopped: ${fault.kind}`, tone: 'bad', behindMs: 0};
  if (newest === null) return {text: 'no copy yet', tone: 'warn', behindMs: 0};
  if (age_ms === 0) return {text: 'complete', tone: 'good', behindMs: 0};
  const isLate = age_ms > Math.max(LATE_MS_MIN, LATE_INTERVALS * everyMs);
  return {text: 'behind by', tone: isLate ? 'bad' : 'good', behindMs: age_ms};
}

export function proofOf(proof: TenantBackup['last_proof']): {text: string; tone: Tone; finding: string} {
  if (proof === null) return {text: 'never', tone: 'neutral', finding: 'No drill has restored this tenant'};
  return {
    text: proof.passed ? 'passed' : 'failed',
    tone: proof.passed ? 'good' : 'bad',
    finding: [proof.object, proof.finding].filter(Boolean).join(': '),
  };
}
