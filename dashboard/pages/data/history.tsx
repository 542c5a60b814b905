/** The versions of a document, newest first, as far as the journal has them. Any of them can be put back. */
import {useInfiniteQuery} from '@tanstack/react-query';
import {useMay} from '../../api/session.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Cause} from '../../parts/cause.tsx';
import {Empty, Failed, Loading} from '../../parts/states.tsx';
import {Time} from '../../parts/values.tsx';
import css from './document.module.css';
import {ownFields} from './document-edit.ts';
import {versionsBefore} from './document-versions.ts';
import type {Edits} from './edits.ts';
import {FieldChanges} from './field-changes.tsx';
import type {Doc} from './row-order.ts';

type HistoryProps = {
  tenant: string;
  table: string;
  id: string;
  /** As it is now; null: it was deleted. */
  doc: Doc | null;
  edits: Edits;
};

export function History({tenant, table, id, doc, edits}: HistoryProps) {
  const may = useMay();
  const pages = useInfiniteQuery({
    queryKey: ['history', {tenant}, table, id, doc?._updateTime ?? null],
    initialPageParam: null as number | null,
    queryFn: ({pageParam, signal}) => versionsBefore(tenant, table, id, pageParam, signal),
    getNextPageParam: page => page.next,
  });
  if (pages.error !== null) return <Failed error={pages.error} retry={() => void pages.refetch()} />;
  if (pages.data === undefined) return <Loading label="Reading the journal" />;
  const versions = pages.data.pages.flatMap(page => page.versions);
  return (
    <div className={css.history}>
      {versions.length === 0 ? (
        <Empty title="The journal has no version of it" icon="journal">
          The journal keeps a number of records, and this document was written before those.
        </Empty>
      ) : (
        <ol>
          {versions.map(({sequence, at, op, doc: version, cause}, i) => {
            const before = versions[i + 1]?.doc ?? null;
            const isCurrent = i === 0 && doc !== null;
            return (
              <li key={sequence} className={css.version}>
                <div className={css.versionHead}>
                  <Badge tone={op === 'delete' ? 'bad' : op === 'insert' ? 'good' : 'neutral'}>{op}</Badge>
                  <Time at={at} form="full" />
                  <span className={css.absent}>#{sequence}</span>
                  {isCurrent || version === null ? null : (
                    <Button
                      kind="quiet"
                      aria-label={`Put back version ${sequence}`}
                      disabled={!may(doc === null ? 'imports.run' : 'documents.patch')}
                      onClick={() => void (doc === null ? edits.restore(version) : edits.save(doc, ownFields(version)))}
                    >
                      Put back
                    </Button>
                  )}
                </div>
                <p className={css.absent}>
                  <Cause tenant={tenant} cause={cause} />
                </p>
                {version === null || before === null ? null : <FieldChanges before={before} after={version} />}
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
