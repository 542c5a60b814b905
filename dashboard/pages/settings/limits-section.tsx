/** The limits of a tenant: first those that fill up, with their use, then all others. */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {Badge} from '../../parts/badge.tsx';
import {Section} from '../../parts/page.tsx';
import {Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {bytesText, countText, durationText} from '../../parts/values.tsx';
import css from './settings.module.css';

type Limit = AnswerOf<'limits.get'>['limits'][number];

/** From this share of a limit on, the page marks it. */
const NEARLY_FULL = 0.8;

const NAME: Column<Limit> = {title: 'Limit', cell: ({area, name}) => `${area}: ${name.replaceAll('_', ' ')}`};
const MEANING: Column<Limit> = {
  title: 'Meaning',
  grows: true,
  cell: ({meaning}) => <span title={meaning}>{meaning}</span>,
};

export function LimitsSection({tenant}: {tenant: string}) {
  const limits = useOperation('limits.get', {tenant});
  return (
    <Section title="Limits">
      <Loaded query={limits}>
        {({limits: all}) => (
          <>
            <Table
              label="Limits in use"
              rows={all.filter(({used}) => used !== null)}
              keyOf={keyOf}
              columns={[
                NAME,
                MEANING,
                {title: 'Used', align: 'end', cell: limit => <Used {...limit} />},
                {title: 'At most', align: 'end', cell: limit => mostText(limit)},
              ]}
            />
            <details className={css.more}>
              <summary>Limits of each request and object</summary>
              <Table
                label="Other limits"
                rows={all.filter(({used}) => used === null)}
                keyOf={keyOf}
                columns={[NAME, MEANING, {title: 'At most', align: 'end', cell: limit => mostText(limit)}]}
              />
            </details>
          </>
        )}
      </Loaded>
    </Section>
  );
}

function Used({used, limit, unit}: Limit) {
  const text = amountText(used ?? 0, unit);
  if (limit === null || (used ?? 0) < limit * NEARLY_FULL) return text;
  return <Badge tone="warn" title="Nearly full">{`${text}, ${Math.round(((used ?? 0) / limit) * 100)} %`}</Badge>;
}

function mostText({limit, unit}: Limit): string {
  return limit === null ? 'no limit' : amountText(limit, unit);
}

function amountText(amount: number, unit: Limit['unit']): string {
  if (unit === 'bytes') return bytesText(amount);
  return unit === 'count' ? countText(amount) : durationText(amount);
}

function keyOf({area, name}: Limit): string {
  return `${area} ${name}`;
}
