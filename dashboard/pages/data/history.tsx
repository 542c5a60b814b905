/** The versions of a document, newest first, as far as the journal has them. Any of them can be put back. */
import {useInfiniteQuery} from '@tanstack/react-query';
import {useMay} from '../../api/session.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Empty, Failed, Loading} from '../../parts/states.tsx';
import {Time} from '../../parts/values.tsx';
import {Shown} from './conflict-dialog.tsx';
import css from './document.module.css';
import {differences, ownFields} from './document-edit.ts';
import {versionsBefore} from './document-versions.ts';
import type {Edits} from './edits.ts';
import type {Doc} from './row-order.ts';

export function History({tenant, table, doc, edits}: {tenant: string; table: string; doc: Doc; edits: Edits}) {
  const may = useMay();
  const pages = useInfiniteQuery({
    queryKey: ['history', {tenant}, table, doc._id, doc._updateTime],
    initialPageParam: null as number | null,
    queryFn: ({pageParam, signal}) => versionsBefore(tenant, table, doc._id, pageParam, signal),
    getNextPageParam: page => page.next,
  });
  if (pages.error !== null) return <Failed error={pages.error} retry={() => void pages.refetch()} />;
  if (pages.data === undefined) return <Loading label="Reading the journal" />;
  const versions = pages.data.pages.flatMap(page => page.versions);
  return (
    <div className={css.history}>
      {versions.length === 0 ? (
        <Empty title="No version in the records that were read" icon="journal" />
      ) : (
        <ol>
          {versions.map((version, i) => {
            const before = versions[i + 1]?.doc;
            const fields = version.doc === null ? {} : ownFields(version.doc);
            const changed =
              before === undefined || before === null ? [] : differences(ownFields(before), fields, ownFields(before));
            return (
              <li key={version.sequence} className={css.version}>
                <div className={css.versionHead}>
                  <Badge tone={version.op === 'delete' ? 'bad' : version.op === 'insert' ? 'good' : 'neutral'}>
                    {version.op}
                  </Badge>
                  <Time at={version.at} form="full" />
                  <span className={css.absent}>#{version.sequence}</span>
                  {i === 0 || version.doc === null ? null : (
                    <Button
                      kind="quiet"
                      disabled={!may('documents.patch')}
                      onClick={() => void edits.save(doc, fields)}
                    >
                      Put back
                    </Button>
                  )}
                </div>
                {changed.length === 0 ? null : (
                  <dl className={css.changes}>
                    {changed.map(({field, base, mine}) => (
                      <div key={field}>
                        <dt>{field}</dt>
                        <dd>
                          <del>
                            <Shown value={base} />
                          </del>{' '}
                          <ins>
                            <Shown value={mine} />
                          </ins>
                        </dd>
                      </div>
                    ))}
                  </dl>
                )}
              </li>
            );
          })}
        </ol>
      )}
      {pages.hasNextPage ? (
        <Button isBusy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          Read older records
        </Button>
      ) : null}
    </div>
  );
}
