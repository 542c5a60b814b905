import {useEffect, useState} from 'react';
import {useMutation, useQuery} from 'svc/react';
import {ConnectionBadge} from '../../kit/connection';
import {failureText} from '../../kit/failure-text';
import {ThemeButton} from '../../kit/theme';
import {api} from '../svc/_generated/api';
import type {Doc, Id} from '../svc/_generated/dataModel';
import {Basket} from './basket';
import {Hall} from './hall';
import {Rush} from './rush';
import {Why} from './why';

export function App() {
  const show = useQuery(api.shows.current);
  const open = useMutation(api.shows.open);
  const [problem, setProblem] = useState<string | null>(null);
  const isMissing = show === null;
  useEffect(() => {
    if (isMissing) open().catch((caught: unknown) => setProblem(failureText(caught)));
  }, [isMissing, open]);
  if (!show && problem !== null) {
    return (
      <p className="notice" role="alert">
        {problem}
      </p>
    );
  }
  if (!show) {
    return (
      <p className="notice" role="status">
        One moment…
      </p>
    );
  }
  return (
    <div className="house">
      <header className="bar">
        <div className="title">
          <p className="fine">Tonight, 20:30</p>
          <h1>{show.name}</h1>
        </div>
        <Counts show={show._id} />
        <ConnectionBadge />
        <ThemeButton />
      </header>
      <main>
        <Hall show={show} />
        <Rush show={show} />
      </main>
      <aside>
        <Basket />
        <Why />
      </aside>
    </div>
  );
}

/** Kept in the transaction that changes a seat, so that they add up at every moment. */
function Counts({show}: {show: Id<'shows'>}) {
  const counts = useQuery(api.shows.counts, {show});
  const shown: [string, keyof NonNullable<typeof counts>][] = [
    ['free', 'free'],
    ['held', 'held'],
    ['sold', 'sold'],
  ];
  return (
    <dl className="counts" aria-label="Seats">
      {shown.map(([label, state]) => (
        <div key={state} data-state={state}>
          <dt>{label}</dt>
          <dd>{counts?.[state] ?? '–'}</dd>
        </div>
      ))}
    </dl>
  );
}

export type Show = Doc<'shows'>;
