/** Shows the points to which a tenant can be restored, and what happened to it between them. */
import {gapIn, pointsOf} from '../../copies/repository/plan.ts';
import type {Repository} from '../../copies/repository/repository.ts';
import type {CopyItem, TimelineCopies} from '../../copies/repository/tenant-copies.ts';
import {eventsIn, type TenantEvent} from '../../copies/restore/file-contents.ts';
import type {BackupGap} from '../../shared/protocol/backups.ts';
import {counted} from '../counted.ts';
import {printable, printableJson} from '../printable.ts';
import {auditedEvents} from './audited-events.ts';
import {type Looked, withFile} from './look.ts';

/** What to list: of a whole repository, because it has the server's audit log, too. */
export type Listing = Looked & {readonly repository: Repository};

/** Without --json: the newest of a timeline. */
const POINTS_SHOWN = 50;

type Line = {timeMs: number; text: string};

/** @param isJson all points, one per line. @returns why points may be missing; null: none are */
export async function listPoints(wanted: Listing, withEvents: boolean, isJson: boolean): Promise<BackupGap | null> {
  const {repository, tenant} = wanted;
  const copies = await repository.copies(tenant);
  const timelines = copies.timelines.filter(({timeline}) => (wanted.timeline ?? timeline) === timeline);
  const events = withEvents
    ? await withFile({...wanted, target: 'newest'}, eventsIn)
    : await auditedEvents(repository, tenant);
  if (isJson) {
    for (const timeline of timelines) for (const point of pointsOf(timeline)) print(JSON.stringify(pointRecord(point)));
    for (const event of events) print(printableJson(JSON.stringify(eventRecord(event))));
  } else for (const [i, timeline] of timelines.entries()) show(timeline, timelines[i + 1] ?? null, events);
  return gapIn(copies, wanted.timeline);
}

/** A point as JSON. */
export function pointRecord({timeline, timeMs, sequence, last}: CopyItem) {
  return {type: 'point', timeline, time: new Date(timeMs).toISOString(), sequence, commit: last};
}

function eventRecord({timeMs, kind, id, text}: TenantEvent) {
  return {type: kind, time: new Date(timeMs).toISOString(), id, text};
}

/** @param next the timeline after it, whose events are not shown with this one; null: it is the present one */
function show(timeline: TimelineCopies, next: TimelineCopies | null, events: readonly TenantEvent[]): void {
  const points = pointsOf(timeline);
  const {origin} = timeline;
  const from = origin === null ? '' : `, restored from commit ${origin.commit} of ${origin.timeline}`;
  const shown = points.slice(-POINTS_SHOWN);
  const ended = next === null ? '' : '; it has ended';
  print(`timeline ${timeline.timeline}: ${counted(points.length, 'point')}${from}${ended}`);
  if (shown.length < points.length) print(`  ${points.length - shown.length} earlier ones: --json shows all`);
  const fromMs = shown[0]?.timeMs ?? 0;
  const during = events.filter(({timeMs}) => timeMs >= fromMs && (next === null || timeMs < next.startedMs));
  const lines: Line[] = [
    ...shown.map(({timeMs, sequence, last}) => ({timeMs, text: `sequence ${sequence}  commit ${last}`})),
    ...during.map(({timeMs, kind, id, text}) => ({timeMs, text: [kind, id, text].filter(Boolean).join(' ')})),
  ];
  for (const {timeMs, text} of lines.sort((a, b) => a.timeMs - b.timeMs)) {
    print(printable(`  ${new Date(timeMs).toISOString()}  ${text}`));
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
