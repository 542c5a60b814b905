import {useSyncExternalStore} from 'react';
import {type Because, explanations, type Moment} from './explanations';
import {placeOf} from './places';

/** Which queries of this page brought another result, at which moment, and what made them run. */
export function Why() {
  const moments = useSyncExternalStore(explanations.subscribe, explanations.moments);
  const [newest] = moments;
  return (
    <section className="panel why" aria-labelledby="why">
      <h2 id="why">Why did that run?</h2>
      <p className="fine">
        This page watches {explanations.queries()} queries. The newest change concerned{' '}
        {newest === undefined ? 'none' : newest.queries.length} of them; the others did not run.
      </p>
      <ol aria-label="Newest first">
        {moments.map(moment => (
          <MomentView key={moment.number} moment={moment} />
        ))}
      </ol>
    </section>
  );
}

function MomentView({moment: {ts, queries}}: {moment: Moment}) {
  return (
    <li className="moment">
      <h3>
        moment <b>{ts}</b>
      </h3>
      <ul>
        {queries.map(({path, args, because}) => (
          <li key={`${path} ${JSON.stringify(args)}`}>
            <code>{path}</code>
            {typeof args.row === 'string' && <b> row {args.row}</b>}
            <span className="muted"> {reason(because)}</span>
          </li>
        ))}
      </ul>
    </li>
  );
}

const REASONS = {
  added: 'this page asked for it',
  identity: 'another user signed in',
  deployment: 'new code was deployed',
  environment: 'an environment variable changed',
  schema: 'the schema changed',
  unknown: 'its result was not kept',
};

function reason(because: Because): string {
  if (because.cause !== 'written') return REASONS[because.cause];
  const place = placeOf(because.id);
  return place === undefined ? `something in ${because.table} was written` : `seat ${place} was written`;
}
