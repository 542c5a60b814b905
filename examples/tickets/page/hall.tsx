import {type KeyboardEvent, memo, useEffect, useMemo, useState} from 'react';
import {useMutation, useQuery} from 'svc/react';
import {failureText} from '../../kit/failure-text';
import {api} from '../svc/_generated/api';
import type {Id} from '../svc/_generated/dataModel';
import type {Show} from './app';
import {buyer} from './buyer';
import {useRuns} from './explanations';
import {showFree, showHeld} from './optimistic';
import {rememberPlaces} from './places';

const STEPS: Record<string, [rows: number, seats: number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** The seats. Each row is a query of its own; the number beside it says how often it ran. */
export function Hall({show}: {show: Show}) {
  const mine = useQuery(api.seats.mine, {buyer});
  const [notice, setNotice] = useState('');
  const places = useMemo(() => new Set<string>(mine?.map(({_id}) => _id)), [mine]);

  /** Arrow keys go from seat to seat. */
  function onKeyDown(event: KeyboardEvent<HTMLElement>) {
    const step = STEPS[event.key];
    const [, row, number] = /^(\w)(\d+)$/.exec((event.target as HTMLElement).dataset.place ?? '') ?? [];
    if (step === undefined || row === undefined) return;
    event.preventDefault();
    const nextRow = show.rows[show.rows.indexOf(row) + step[0]];
    const next = event.currentTarget.querySelector<HTMLElement>(`[data-place="${nextRow}${Number(number) + step[1]}"]`);
    next?.focus();
  }

  return (
    <section className="panel hall" aria-label="The hall">
      <p className="stage">Stage</p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the buttons in it are what is interacted with. */}
      <div className="rows" onKeyDown={onKeyDown}>
        {show.rows.map(row => (
          <Row key={row} show={show._id} row={row} mine={places} tell={setNotice} />
        ))}
      </div>
      <p className="legend fine">
        <i data-state="free" /> free <i data-state="mine" /> yours <i data-state="held" /> held <i data-state="sold" />{' '}
        sold
      </p>
      <p className="told" role="status">
        {notice}
      </p>
    </section>
  );
}

type RowProps = {show: Id<'shows'>; row: string; mine: ReadonlySet<string>; tell(notice: string): void};

const Row = memo(function Row({show, row, mine, tell}: RowProps) {
  const seats = useQuery(api.seats.row, {show, row});
  const runs = useRuns('seats:row', {show, row});
  const holdSeat = useMutation(api.seats.hold);
  const letSeatGo = useMutation(api.seats.letGo);
  const hold = useMemo(() => holdSeat.withOptimisticUpdate(showHeld), [holdSeat]);
  const letGo = useMemo(() => letSeatGo.withOptimisticUpdate(showFree), [letSeatGo]);
  useEffect(() => {
    if (seats !== undefined) rememberPlaces(row, seats);
  }, [row, seats]);

  async function press(seat: Id<'seats'>, place: string, state: string) {
    tell('');
    try {
      if (mine.has(seat) && state === 'held') return void (await letGo({seat, buyer}));
      if (state !== 'free') return tell(`${place} is ${state === 'sold' ? 'sold' : 'held by another buyer'}`);
      const outcome = await hold({seat, buyer});
      if (outcome === 'taken') tell(`Another buyer was faster: ${place} is taken`);
      if (outcome === 'too many') tell('Six seats are all that one may hold');
    } catch (caught) {
      tell(failureText(caught));
    }
  }

  return (
    <fieldset className="row" aria-label={`Row ${row}`}>
      <b>{row}</b>
      {seats?.map(({_id, number, price, state}) => {
        const place = `${row}${number}`;
        const isMine = mine.has(_id);
        const shown = isMine ? (state === 'sold' ? 'bought' : 'mine') : state === 'paying' ? 'held' : state;
        return (
          <button
            key={_id}
            type="button"
            className="seat"
            data-place={place}
            data-state={shown}
            aria-pressed={isMine}
            aria-disabled={!isMine && state !== 'free'}
            aria-label={`${place}, ${price} euros, ${shown}`}
            title={`${place} · ${price} €`}
            onClick={() => void press(_id, place, state)}
          >
            {number}
          </button>
        );
      })}
      {/* A new key begins the flash anew. */}
      <span key={runs} className="runs" title={`The query of row ${row} has brought ${runs} results`}>
        {runs}×
      </span>
    </fieldset>
  );
});
