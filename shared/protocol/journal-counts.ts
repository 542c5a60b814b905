/** Wire types of the counts of journal records over time. GET /api/tenants/{tenant_id}/journal/counts */
import Type, {type Static} from 'typebox';
import {JOURNAL_BUCKETS_DEFAULT, JOURNAL_BUCKETS_MAX} from '../limits.ts';

const EpochMs = Type.Number({description: 'epoch milliseconds'});

export const JournalCountsQuery = Type.Object({
  from: Type.Optional(Type.Integer({minimum: 0, description: 'epoch milliseconds; absent: the oldest stored record'})),
  to: Type.Optional(Type.Integer({minimum: 0, description: 'inclusive; absent: the newest record'})),
  buckets: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: JOURNAL_BUCKETS_MAX,
      description: `at most; absent: ${JOURNAL_BUCKETS_DEFAULT}`,
    }),
  ),
});
export const JournalCounts = Type.Object({
  from: EpochMs,
  to: EpochMs,
  bucket_ms: Type.Integer({minimum: 1}),
  buckets: Type.Array(
    Type.Object({
      at: Type.Number({description: 'its begin, epoch milliseconds'}),
      records: Type.Integer(),
      kinds: Type.Record(Type.String(), Type.Integer(), {
        description: 'records with such a change; one with several kinds counts for each',
      }),
    }),
    {description: 'in order; those without records are left out'},
  ),
  counted_from: Type.Number({description: 'records before this time are not counted yet'}),
  complete: Type.Boolean({description: 'false: request it again for older records'}),
});
export type JournalCounts = Static<typeof JournalCounts>;
