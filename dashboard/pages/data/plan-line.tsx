/** How the rows are read, and the button that makes the index that would help. */
import type {StoredTableSchema} from '../../../shared/protocol/schema.ts';
import {Badge} from '../../parts/badge.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {declaredIndexes} from '../schema/declared-indexes.ts';
import css from './data.module.css';
import type {PlanShown} from './query-plan.ts';

export function PlanLine({
  plan,
  tenant,
  table,
  schema,
}: {
  plan: PlanShown;
  tenant: string;
  table: string;
  schema: StoredTableSchema | null;
}) {
  const {index} = plan;
  return (
    <div className={css.plan}>
      <Badge tone={plan.isSlow ? 'warn' : 'good'}>{plan.isSlow ? 'slow' : 'fast'}</Badge>
      <span>{plan.text}</span>
      {index === null ? null : (
        <OperationButton
          operation="schema.put"
          input={{
            tenant,
            params: {table},
            body: {table, fields: schema?.fields ?? [], indexes: [...declaredIndexes(schema), index]},
          }}
          refresh={['schema.all']}
          done={`${index.name} is being built`}
        >
          Add this index
        </OperationButton>
      )}
    </div>
  );
}
