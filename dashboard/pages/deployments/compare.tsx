/** What differs from one deployment to another: functions, schema, routes, variables, and the lines of each file. */
import {useState} from 'react';
import {unifiedDiff} from '../../../shared/line-diff.ts';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {DIFF_LINES_MAX} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Section} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {bytesText} from '../../parts/values.tsx';
import css from './deployments.module.css';

type Diff = AnswerOf<'deployments.diff'>;
type ChangedFile = Diff['files'][number];
type Change = ChangedFile['change'];
type Row = {readonly what: string; readonly name: string; readonly change: Change};

const TONES: Readonly<Record<Change, Tone>> = {added: 'good', removed: 'bad', changed: 'warn'};

type CompareProps = {tenant: string; from: string; to: string};

export function Compare({tenant, from, to}: CompareProps) {
  const params = {deployment_id: from, other_id: to};
  const diff = useOperation('deployments.diff', {tenant, params});
  return <Loaded query={diff}>{found => <Changes tenant={tenant} diff={found} />}</Loaded>;
}

function Changes({tenant, diff}: {tenant: string; diff: Diff}) {
  const rows = rowsOf(diff);
  const sources = diff.files.filter(({kind}) => kind === 'source');
  const files = sources.length > 0 ? sources : diff.files;
  if (rows.length === 0 && files.length === 0) return <Empty title="Their code is the same" icon="check" />;
  return (
    <>
      {rows.length === 0 ? null : (
        <Table
          label="What differs"
          rows={rows}
          keyOf={({what, name}) => `${what} ${name}`}
          columns={[
            {title: 'Kind', cell: ({what}) => what},
            {title: 'Name', grows: true, cell: ({name}) => <code title={name}>{name}</code>},
            {title: 'Change', cell: ({change}) => <Badge tone={TONES[change]}>{change}</Badge>},
          ]}
        />
      )}
      <Section title={sources.length > 0 ? 'Sources' : 'Files of the bundle'}>
        {files.map(file => (
          <FileLines key={`${file.kind} ${file.path}`} tenant={tenant} diff={diff} file={file} />
        ))}
      </Section>
    </>
  );
}

function rowsOf({functions, tables, indexes, routes, auth_providers: providers, variables}: Diff): Row[] {
  return [
    ...functions.map(({path, change}) => ({what: 'Function', name: path, change})),
    ...tables.map(({name, change}) => ({what: 'Table', name, change})),
    ...indexes.map(({table, name, fields, change}) => ({
      what: 'Index',
      name: `${table}.${name} (${fields.join(', ')})`,
      change,
    })),
    ...routes.map(({method, path, change}) => ({what: 'HTTP route', name: `${method} ${path}`, change})),
    ...providers.map(({issuer, change}) => ({what: 'Auth provider', name: issuer, change})),
    ...variables.map(({name, change}) => ({what: 'Variable', name, change})),
  ];
}

type FileLinesProps = {tenant: string; diff: Diff; file: ChangedFile};

/** Its lines are requested when it is opened. */
function FileLines({tenant, diff, file}: FileLinesProps) {
  const {path, kind, change, bytes_before: before, bytes_after: after} = file;
  const [isOpen, setOpen] = useState(kind === 'source' && diff.files.length < 20);
  const sizes = [before, after].flatMap(bytes => (bytes === null ? [] : [bytesText(bytes)]));
  return (
    <details className={css.changed} open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{path}</code> <Badge tone={TONES[change]}>{change}</Badge>
        <span className={css.sizes}>{sizes.join(' → ')}</span>
      </summary>
      {isOpen ? <Lines tenant={tenant} diff={diff} file={file} /> : null}
    </details>
  );
}

function Lines({tenant, diff, file: {path, kind, change}}: FileLinesProps) {
  const textIn = (id: number) => ({tenant, params: {deployment_id: String(id), file_path: path}, query: {kind}});
  const before = useOperation('deployments.file', textIn(diff.from), {enabled: change !== 'added'});
  const after = useOperation('deployments.file', textIn(diff.to), {enabled: change !== 'removed'});
  const shown = (lines: string[]) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable by keyboard
    <section className={css.diff} aria-label={`Lines of ${path}`} tabIndex={0}>
      {lines.slice(0, DIFF_LINES_MAX).map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and stay
        <div key={i} className={css[classOf(line)]}>
          {line || ' '}
        </div>
      ))}
      {lines.length > DIFF_LINES_MAX ? (
        <div className={css.hunk}>{lines.length - DIFF_LINES_MAX} more lines</div>
      ) : null}
    </section>
  );
  if (change === 'added') return <Loaded query={after}>{({text}) => shown(unifiedDiff('', text))}</Loaded>;
  if (change === 'removed') return <Loaded query={before}>{({text}) => shown(unifiedDiff(text, ''))}</Loaded>;
  return (
    <Loaded query={before}>
      {({text: old}) => <Loaded query={after}>{({text}) => shown(unifiedDiff(old, text))}</Loaded>}
    </Loaded>
  );
}

function classOf(line: string): 'hunk' | 'plus' | 'minus' | 'same' {
  if (line.startsWith('@@')) return 'hunk';
  return line.startsWith('+') ? 'plus' : line.startsWith('-') ? 'minus' : 'same';
}
