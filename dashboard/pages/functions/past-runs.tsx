/** Runs from this tab: what they were called with, how they ended, and a way to repeat one. */
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Section} from '../../parts/page.tsx';
import {Table} from '../../parts/table.tsx';
import {durationText, Time} from '../../parts/values.tsx';
import css from './functions.module.css';
import {identityText} from './result.tsx';
import type {PastRun} from './run-history.ts';

export function PastRuns({
  runs,
  hasPath,
  onShow,
  onRepeat,
}: {
  runs: readonly PastRun[];
  /** They are of several functions. */
  hasPath: boolean;
  onShow(run: PastRun): void;
  onRepeat?: (run: PastRun) => void;
}) {
  if (runs.length === 0) return null;
  return (
    <Section title="Runs from this tab">
      <Table<PastRun>
        label="Runs from this tab"
        rows={runs}
        keyOf={({id}) => id}
        columns={[
          {title: 'When', cell: ({at}) => <Time at={at} />},
          ...(hasPath ? [{title: 'Function', cell: ({path}: PastRun) => <code>{path}</code>}] : []),
          {
            title: 'Arguments',
            grows: true,
            cell: run => (
              <button type="button" className={css.link} title="Show this run" onClick={() => onShow(run)}>
                <code>{JSON.stringify(run.args)}</code>
              </button>
            ),
          },
          {title: 'Identity', cell: identityText},
          {
            title: 'Outcome',
            cell: ({isError, reply}) => (
              <Badge
                tone={isError ? 'bad' : 'good'}
                title={
                  reply?.status === 'error' ? reply.errorMessage : JSON.stringify(reply?.value ?? null).slice(0, 400)
                }
              >
                {isError ? 'error' : 'success'}
              </Badge>
            ),
          },
          {title: 'Time', align: 'end', cell: ({ms}) => durationText(ms)},
          ...(onRepeat === undefined
            ? []
            : [
                {
                  title: 'Actions',
                  isTitleHidden: true,
                  align: 'end' as const,
                  cell: (run: PastRun) => (
                    <Button kind="quiet" onClick={() => onRepeat(run)}>
                      Run again
                    </Button>
                  ),
                },
              ]),
        ]}
      />
    </Section>
  );
}
