/** What differs between a deployment and the active one: its files and functions. */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {Bytes} from '../../parts/values.tsx';

type Change = AnswerOf<'deployments.diff'>['files'][number]['change'];

const TONES: Readonly<Record<Change, Tone>> = {added: 'good', removed: 'bad', changed: 'warn'};

type CompareProps = {tenant: string; from: number; to: number; onClose(): void};

export function Compare({tenant, from, to, onClose}: CompareProps) {
  const params = {deployment_id: String(from), other_id: String(to)};
  const diff = useOperation('deployments.diff', {tenant, params});
  return (
    <Dialog title={`From deployment ${from} to ${to}`} size="large" onClose={onClose}>
      <Loaded query={diff}>
        {({files, functions}) =>
          files.length === 0 ? (
            <Empty title="Their code is the same" icon="check" />
          ) : (
            <>
              {functions.length === 0 ? null : (
                <Table
                  label="Functions"
                  rows={functions}
                  keyOf={({path}) => path}
                  columns={[
                    {title: 'Function', grows: true, cell: ({path}) => <code>{path}</code>},
                    {title: 'Change', cell: ({change}) => <Badge tone={TONES[change]}>{change}</Badge>},
                  ]}
                />
              )}
              <Table
                label="Files"
                rows={files}
                keyOf={({path, kind}) => `${kind} ${path}`}
                columns={[
                  {title: 'File', grows: true, cell: ({path}) => <code title={path}>{path}</code>},
                  {title: 'Change', cell: ({change}) => <Badge tone={TONES[change]}>{change}</Badge>},
                  {title: 'Before', align: 'end', cell: ({bytes_before: bytes}) => <Size bytes={bytes} />},
                  {title: 'After', align: 'end', cell: ({bytes_after: bytes}) => <Size bytes={bytes} />},
                ]}
              />
            </>
          )
        }
      </Loaded>
    </Dialog>
  );
}

function Size({bytes}: {bytes: number | null}) {
  return bytes === null ? '–' : <Bytes value={bytes} />;
}
